/**
 * Type-checks and runs the code of the READMEs, of the guides and the manual of the documentation site, and of the skills.
 *
 * A code block that starts with ` ```ts run ` is executed unchanged, with Node, in the folder of its document, against
 * the built packages; that of a page of the manual in the folder of its `package`, which its front matter names. A ` ```ts ` block is a whole module
 * and type-checked. In a README or the manual, a ` ```ts fragment ` block shows a part of a program and is not checked; their number is limited. Any other mark is a problem.
 * By hand: `node tools/readme-snippets.ts [path of a document, or its beginning]`.
 *
 * @module
 */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { listFiles, readText, repositoryRoot } from './repository-files.ts';
import { type CommandResult, runCommand } from './verify/run-command.ts';

/** A code block of a document that is checked. */
export interface Snippet {
  /** The document, from the root of the repository. */
  readonly document: string;
  /** The folder whose packages it imports: the package of a page of the manual, else that of the document. */
  readonly folder: string;
  /** The line where the block starts, counted from 1. */
  readonly line: number;
  /** The code itself. */
  readonly code: string;
  /** Whether it is run; otherwise only its types are checked. */
  readonly isRun: boolean;
}

/** Result of checking a snippet. */
export interface SnippetResult extends CommandResult {
  /** Location of the snippet, or the step that applies to all of them. */
  readonly name: string;
}

/** A snippet that takes longer than this has no place in a README, in milliseconds. */
const snippetTimeoutMs = 60_000;

/** Temporary folder of snippets: inside their package, so that imports by name resolve as for a user. */
const snippetFolder = '.readme-snippets';

/** Temporary TypeScript configuration for snippets. */
const settingsFolder = join(repositoryRoot, snippetFolder);

const isReadme = (path: string): boolean => /^((packages|apps|examples)\/[^/]+\/)?README\.md$/.test(path);

/** Pages of the site and skills. */
const isGuide = (path: string): boolean =>
  /^apps\/docs\/content\/.+\.md$|^(packages|apps)\/[^/]+\/skills\/[^/]+\/SKILL\.md$/.test(path);

/** The package of a page of the manual; null for other documents. */
const packageOf = (text: string): string | null => /^---\n(?:.+\n)*?package: (.+)\n/.exec(text)?.[1] ?? null;

/** Every code block that is checked, of the documents whose path, or whose package, starts with `prefix`. */
export function findSnippets(prefix = ''): readonly Snippet[] {
  return listFiles((path) => isReadme(path) || isGuide(path))
    .flatMap(snippetsOf)
    .filter(({ document, folder }) => document.startsWith(prefix) || `${folder}/`.startsWith(prefix));
}

/** Number of fragments in all READMEs and the manual. Lower it when one becomes a whole module; do not raise it. */
const maxFragments = 12;

/** Problems of the marks of code blocks: unknown ones, fragments outside READMEs and the manual, and too many fragments. */
export function markProblems(): readonly string[] {
  const blocks = listFiles((path) => isReadme(path) || isGuide(path)).flatMap(blocksOf);
  const fragments = blocks.filter(({ mark }) => mark === 'fragment');
  const unknown = blocks.filter(({ document, mark }) => {
    if (mark === '' || mark === 'run') return false;
    return mark !== 'fragment' || (isGuide(document) && packageOf(readText(document)) === null);
  });
  return [
    ...unknown.map(({ document, line, mark }) => `${document}:${line}: unknown mark of a TypeScript block: ${mark}`),
    ...(fragments.length === maxFragments
      ? []
      : [
          `READMEs and manual have ${fragments.length} fragments, maxFragments in tools/readme-snippets.ts is ${maxFragments}.`,
        ]),
  ];
}

/** Checks the types of all snippets at once, then runs them one by one. */
export async function runSnippets(
  snippets: readonly Snippet[],
  onResult: (result: SnippetResult) => void,
): Promise<readonly SnippetResult[]> {
  const results: SnippetResult[] = [];
  const add = (result: SnippetResult): void => {
    results.push(result);
    onResult(result);
  };
  const files = snippets.map((snippet) => ({ ...snippet, file: fileOf(snippet) }));
  // A store of an earlier run may have another schema.
  const env = { TMPDIR: await mkdtemp(join(tmpdir(), 'agentlightning-snippets-')) };
  // PostgreSQL runs as another user where this one is root.
  await chmod(env.TMPDIR, 0o755);
  try {
    for (const { file, code } of files) {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, code);
    }
    if (files.length > 0) add({ name: 'types of all snippets', ...(await checkTypes(files.map(({ file }) => file))) });
    for (const { document, line, file } of files.filter(({ isRun }) => isRun)) {
      const cwd = dirname(dirname(file));
      add({
        name: `${document}:${line}`,
        ...(await runCommand(['node', file], { cwd, env, timeoutMs: snippetTimeoutMs })),
      });
    }
  } finally {
    for (const folder of [env.TMPDIR, settingsFolder, ...files.map(({ file }) => dirname(file))]) {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return results;
}

async function checkTypes(files: readonly string[]): Promise<CommandResult> {
  const settings = join(settingsFolder, 'tsconfig.json');
  // As a user's project: the built declarations, and no need to write down the types of exports.
  const compilerOptions = { customConditions: [], isolatedDeclarations: false, declaration: false };
  const text = JSON.stringify({
    extends: relative(settingsFolder, join(repositoryRoot, 'tsconfig.base.json')),
    compilerOptions,
    files: files.map((file) => relative(settingsFolder, file)),
  });
  await mkdir(settingsFolder, { recursive: true });
  await writeFile(settings, text);
  return await runCommand(['tsc', '--noEmit', '-p', settings]);
}

function fileOf({ document, folder, line }: Snippet): string {
  const name = `${document.toLowerCase().replaceAll(/[^a-z]+/g, '-')}-line-${line}.ts`;
  return join(repositoryRoot, folder, snippetFolder, name);
}

/** A TypeScript block of a document. */
interface Block extends Omit<Snippet, 'isRun'> {
  /** The text after the language. */
  readonly mark: string;
}

function snippetsOf(document: string): readonly Snippet[] {
  return blocksOf(document).flatMap(({ mark, ...block }) =>
    mark === '' || mark === 'run' ? [{ ...block, isRun: mark === 'run' }] : [],
  );
}

function blocksOf(document: string): readonly Block[] {
  const text = readText(document);
  const folder = packageOf(text) ?? dirname(document);
  return [...text.matchAll(/^ *```(?:ts|tsx|mts|typescript)\b([^\n]*)\n([\s\S]*?)^ *```/gm)].map((match) => ({
    document,
    folder,
    line: text.slice(0, match.index).split('\n').length,
    mark: (match[1] ?? '').trim(),
    code: match[2] ?? '',
  }));
}

if (import.meta.main) {
  const results = await runSnippets(findSnippets(process.argv[2]), ({ name, isOk, output }) => {
    console.log(`${isOk ? 'passed' : 'FAILED'}  ${name}\n${output}\n`);
  });
  if (results.length === 0) console.log('No TypeScript block there that is checked.');
  if (results.some(({ isOk }) => !isOk)) process.exitCode = 1;
}
