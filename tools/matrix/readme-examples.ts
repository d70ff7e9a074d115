import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findSnippets } from '../readme-snippets.ts';
import { runCommand } from '../verify/run-command.ts';

/** The timeout of an example, in milliseconds. Loading a framework is slow on a busy machine. */
const exampleTimeoutMs = 180_000;

/**
 * Runs the README examples of a package, such as `packages/fetch`, in a user's project, with only the installed
 * dependencies. Returns the failures.
 */
export async function failingExamples(packageFolder: string, folder: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { document, line, code, isRun } of findSnippets(`${packageFolder}/`)) {
    if (!isRun) continue;
    const file = join(folder, `readme-line-${line}.mts`);
    await writeFile(file, code);
    // Its own temporary folder: a store of an earlier run may have another schema.
    const env = { TMPDIR: folder };
    const { isOk, output } = await runCommand(['node', file], { cwd: folder, env, timeoutMs: exampleTimeoutMs });
    if (!isOk) problems.push(`Example failed: ${document}:${line}.\n${output}`);
  }
  return problems;
}
