import { trainerWeight } from './installed-weight.ts';
import { measureSizes } from './measure-sizes.ts';
import type { Step, StepResult } from './step.ts';

/** Checks the sizes of the packages that an agent installs, and what the trainer installs. Each package counts. */
export const sizeStep: Step = {
  name: 'sizes',
  description: 'sizes of agent packages (size-limit), weight of the trainer',
  after: ['build'],
  run: checkSizes,
};

async function checkSizes(): Promise<StepResult> {
  const sizes = await measureSizes();
  const weight = await trainerWeight();
  const tooBig = sizes.filter(({ isOk }) => !isOk);
  const texts = tooBig.map(({ name, bytes, limitBytes }) => `${name} has ${bytes} bytes, and may have ${limitBytes}`);
  const problems = weight.isOk ? texts : [...texts, weight.text];
  return {
    passed: sizes.length + 1 - problems.length,
    failed: problems.length,
    remark: `${sizes.length} bundles; ${weight.text}`,
    output: problems.join('\n'),
  };
}
