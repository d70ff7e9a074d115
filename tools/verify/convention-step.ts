import { conventions } from '../conventions.ts';
import type { Step, StepResult } from './step.ts';

/** Checks the conventions of this repository. Each convention counts. */
export const conventionStep: Step = {
  name: 'conventions',
  description: 'sizes, names, documentation, English',
  run: () => Promise.resolve(checkConventions()),
};

function checkConventions(): StepResult {
  const broken = conventions
    .map(({ name, findProblems }) => ({ name, problems: findProblems() }))
    .filter(({ problems }) => problems.length > 0);
  const kept = conventions.length - broken.length;
  const output = broken.map(({ name, problems }) => `Broken: ${name}\n  ${problems.join('\n  ')}`).join('\n\n');
  return { passed: kept, failed: broken.length, remark: `${kept} rules`, output };
}
