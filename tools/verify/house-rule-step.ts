import { houseRules } from '../house-rules.ts';
import type { Step, StepResult } from './step.ts';

/** Checks the rules of the house. Each rule counts. */
export const houseRuleStep: Step = {
  name: 'house',
  description: 'house rules: sizes, names, docs, links',
  run: () => Promise.resolve(checkHouseRules()),
};

function checkHouseRules(): StepResult {
  const broken = houseRules
    .map(({ name, findProblems }) => ({ name, problems: findProblems() }))
    .filter(({ problems }) => problems.length > 0);
  const kept = houseRules.length - broken.length;
  const output = broken.map(({ name, problems }) => `Broken: ${name}\n  ${problems.join('\n  ')}`).join('\n\n');
  return { passed: kept, failed: broken.length, remark: `${kept} rules`, output };
}
