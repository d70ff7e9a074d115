import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findSnippets } from '../readme-snippets.ts';
import { runCommand } from '../verify/run-command.ts';

/** An example that takes longer than this hangs, in milliseconds. */
const exampleTimeoutMs = 60_000;

/**
 * Runs the examples of an adapter's README in a user's project, where nothing is installed but the framework and what
 * the adapter brings along. Gives what is wrong; nothing when all run.
 */
export async function failingExamples(adapter: string, folder: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { document, line, code } of findSnippets(`packages/${adapter}/`)) {
    const file = join(folder, `readme-line-${line}.mts`);
    await writeFile(file, code);
    const { isOk, output } = await runCommand(['node', file], { cwd: folder, timeoutMs: exampleTimeoutMs });
    if (!isOk) problems.push(`The example of ${document}:${line} does not run there:\n${output}`);
  }
  return problems;
}
