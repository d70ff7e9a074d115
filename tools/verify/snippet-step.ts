import { findSnippets, runSnippet } from '../readme-snippets.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** Runs every code block of a README that is marked `ts run`. Each block counts. */
export const snippetStep: Step = {
  name: 'snippets',
  description: 'code in the READMEs runs as it stands',
  run: runSnippets,
};

async function runSnippets({ flash }: StepContext): Promise<StepResult> {
  const snippets = findSnippets();
  const failures: string[] = [];
  for (const snippet of snippets) {
    flash(`${snippet.document}:${snippet.line}`);
    const { isOk, output } = await runSnippet(snippet);
    if (!isOk) failures.push(`${snippet.document}:${snippet.line}\n${output}`);
  }
  const passed = snippets.length - failures.length;
  return { passed, failed: failures.length, remark: `${passed} snippets`, output: failures.join('\n\n') };
}
