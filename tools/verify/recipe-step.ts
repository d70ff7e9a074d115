import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** Runs the recipes of the documentation in projects outside the repository. */
export const recipeStep: Step = {
  name: 'recipes',
  description: 'recipes of docs/recipes: servers, bundles, tests, other runtimes',
  after: ['build', 'matrix'],
  isLong: true,
  run: runRecipes,
};

async function runRecipes({ flash }: StepContext): Promise<StepResult> {
  const { output } = await runCommand(['node', 'tools/recipes.ts'], { onLine: flash, timeoutMs: 1_800_000 });
  const counts = /^(\d+) passed, (\d+) failed$/m.exec(output);
  // Without counts it ended early.
  const [passed, failed] = counts === null ? [0, 1] : [Number(counts[1]), Number(counts[2])];
  return { passed, failed, remark: `${passed} recipes`, output: failed === 0 ? '' : output };
}
