import { AgentLightningError, type Run } from '@agentlightning/core';
import type { ModelVersion } from '@agentlightning/core/protocol';
import { isSearchRun, readRunState } from '../run/run-state.ts';

/**
 * Checks that a training has not made its final model significantly worse on the held-out tasks. Other checkpoints have no
 * verdict, and pass.
 *
 * @throws AgentLightningError CONFLICT with both rewards
 */
export function assertNotWorse(run: Run, { version, step }: ModelVersion): void {
  if (isSearchRun(run)) return;
  const { verdict, before, after, finalStep, finishedStep } = readRunState(run, '');
  if (verdict !== 'worse' || before === null || after === null) return;
  if (step !== null && step !== (finalStep ?? finishedStep)) return;
  const [earlier, later] = [before, after].map(({ reward }) => reward.toFixed(2));
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `${version} is worse on the held-out tasks than the model that its training began with: reward ${later} instead of ${earlier}`,
    remedy: 'Deploy another version; or, if the fall is accepted, pass `--accept-worse --reason "<why>"`.',
    details: { version, before: before.reward, after: after.reward },
  });
}
