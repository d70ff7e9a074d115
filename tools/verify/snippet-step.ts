import { findSnippets, runSnippets } from '../readme-snippets.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** Type-checks and runs every code block of a README that is marked `ts run`. Each block counts. */
export const snippetStep: Step = {
  name: 'snippets',
  description: 'code in the READMEs is typed and runs',
  after: ['build'],
  run: checkSnippets,
};

async function checkSnippets({ flash }: StepContext): Promise<StepResult> {
  const results = await runSnippets(findSnippets(), ({ name }) => flash(name));
  const failures = results.filter(({ isOk }) => !isOk);
  const passed = results.length - failures.length;
  const output = failures.map((failure) => `${failure.name}\n${failure.output}`).join('\n\n');
  return { passed, failed: failures.length, remark: `${passed} passed`, output };
}
