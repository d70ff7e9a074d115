import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** Rehearses a release against a registry on loopback, with installations by each package manager. */
export const releaseStep: Step = {
  name: 'release',
  description: 'release to a local registry, installation with npm, pnpm, yarn, bun',
  after: ['build', 'packages', 'matrix'],
  isLong: true,
  run: rehearse,
};

async function rehearse({ flash }: StepContext): Promise<StepResult> {
  const command = ['node', 'tools/rehearse-release.ts'];
  const { output } = await runCommand(command, { onLine: flash, timeoutMs: 3_600_000 });
  const counts = /^(\d+) passed, (\d+) failed$/m.exec(output);
  // Without counts it ended early.
  const [passed, failed] = counts === null ? [0, 1] : [Number(counts[1]), Number(counts[2])];
  return { passed, failed, remark: `${passed} checks`, output: failed === 0 ? '' : output };
}
