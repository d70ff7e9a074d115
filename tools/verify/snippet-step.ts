import { installExtra } from '../extras/extras.ts';
import { findSnippets, markProblems, runSnippets } from '../readme-snippets.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** Type-checks the code of READMEs, guides and skills, and runs every code block that is marked `ts run`. Each run counts. */
export const snippetStep: Step = {
  name: 'snippets',
  description: 'code in READMEs, guides and skills is typed and runs',
  // The files of snippets are beside their documents, and must not be packed with them.
  after: ['build', 'packages'],
  run: checkSnippets,
};

async function checkSnippets({ flash }: StepContext): Promise<StepResult> {
  for (const extra of ['claude-code', 'postgresql'] as const) await installExtra(extra);
  const results = await runSnippets(findSnippets(), ({ name }) => flash(name));
  const failures = results.filter(({ isOk }) => !isOk);
  const passed = results.length - failures.length;
  const marks = markProblems();
  const output = [...marks, ...failures.map((failure) => `${failure.name}\n${failure.output}`)].join('\n\n');
  return { passed, failed: failures.length + marks.length, remark: `${passed} passed`, output };
}
