/**
 * Runs the code of the READMEs, so that what they show is true.
 *
 * A code block that starts with ` ```ts run ` is executed as it stands, with Node, inside the package the README
 * belongs to, against the built packages. The README of the repository runs inside `apps/trainer`, which knows all
 * packages. By hand: `node tools/readme-snippets.ts [path of a README, or its beginning]`.
 *
 * @module
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listFiles, readText, repositoryRoot } from './repository-files.ts';
import { type CommandResult, runCommand } from './verify/run-command.ts';

/** A code block of a README that is marked to be run. */
export interface Snippet {
  /** The README, from the root of the repository. */
  readonly document: string;
  /** The line where the block starts, counted from 1. */
  readonly line: number;
  /** The code itself. */
  readonly code: string;
}

/** A snippet that takes longer than this has no place in a README, in milliseconds. */
const snippetTimeoutMs = 60_000;

/** Every `ts run` code block of the READMEs whose path starts with `prefix`. */
export function findSnippets(prefix = ''): readonly Snippet[] {
  return listFiles(
    (path) => /^((packages|apps|examples)\/[^/]+\/)?README\.md$/.test(path) && path.startsWith(prefix),
  ).flatMap(snippetsOf);
}

/** Runs one snippet in its package's folder. */
export async function runSnippet(snippet: Snippet): Promise<CommandResult> {
  const home = dirname(snippet.document) === '.' ? 'apps/trainer' : dirname(snippet.document);
  // Inside the package, so that imports by name resolve as they would for whoever copies the snippet.
  const folder = join(repositoryRoot, home, '.readme-snippets');
  const file = join(folder, `line-${snippet.line}.ts`);
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(file, snippet.code);
    return await runCommand(['node', file], { cwd: join(repositoryRoot, home), timeoutMs: snippetTimeoutMs });
  } finally {
    await rm(file, { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}

function snippetsOf(document: string): readonly Snippet[] {
  const text = readText(document);
  return [...text.matchAll(/^```ts run[^\n]*\n([\s\S]*?)^```/gm)].map((match) => ({
    document,
    line: text.slice(0, match.index).split('\n').length,
    code: match[1] ?? '',
  }));
}

if (import.meta.main) {
  const snippets = findSnippets(process.argv[2]);
  for (const snippet of snippets) {
    const { isOk, output } = await runSnippet(snippet);
    console.log(`${isOk ? 'passed' : 'FAILED'}  ${snippet.document}:${snippet.line}\n${output}\n`);
    if (!isOk) process.exitCode = 1;
  }
  if (snippets.length === 0) console.log('No `ts run` block there.');
}
