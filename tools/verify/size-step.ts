import { measureSizes } from './measure-sizes.ts';
import type { Step, StepResult } from './step.ts';

/** Checks the sizes of the packages that an agent installs. Each package counts. */
export const sizeStep: Step = {
  name: 'sizes',
  description: 'sizes of agent packages (size-limit)',
  after: ['build'],
  run: checkSizes,
};

async function checkSizes(): Promise<StepResult> {
  const sizes = await measureSizes();
  const tooBig = sizes.filter(({ isOk }) => !isOk);
  return {
    passed: sizes.length - tooBig.length,
    failed: tooBig.length,
    remark: `${sizes.length} bundles`,
    output: tooBig
      .map(({ name, bytes, limitBytes }) => `${name} has ${bytes} bytes, and may have ${limitBytes}`)
      .join('\n'),
  };
}
