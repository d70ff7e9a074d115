import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** PyTorch is large and a network may be slow: the limit for all environments, in milliseconds. */
const installTimeoutMs = 40 * 60_000;

/** Installs the Python environments of the tests: those of the GPU runtime, the Helm chart and the workflows, and with `--all` those of the interop tests. */
export const pythonStep: Step = {
  name: 'python',
  description: 'Python environments of the tests',
  run: installEnvironments,
};

async function installEnvironments({ scope, flash }: StepContext): Promise<StepResult> {
  const names = scope === 'short' ? ['agentlightning-runtime', 'kubernetes', 'workflows'] : [];
  const command = ['node', 'tools/prepare-python.ts', ...names];
  const { isOk, output } = await runCommand(command, { timeoutMs: installTimeoutMs, onLine: flash });
  const remark = /not run: .*/.exec(output)?.[0] ?? `${output.split('\n').length} environments`;
  return { passed: isOk ? 1 : 0, failed: isOk ? 0 : 1, remark, output };
}
