import type { FinishedRollout } from '../evaluation/finished-rollout.ts';
import type { TrainingSession } from '../session/training-session.ts';
import type { RolloutPhase } from '../training-event.ts';
import { collectRollouts } from './collect-rollouts.ts';
import { type NumberedTask, planRollouts } from './rollout-plan.ts';

/** The rollouts of a step or of an evaluation. */
export interface PhasePlan {
  readonly phase: RolloutPhase;
  /** The current step; for evaluations, the last finished one. */
  readonly step: number;
  readonly tasks: readonly NumberedTask[];
  readonly rolloutsPerTask: number;
}

/**
 * Runs the rollouts of a step or evaluation, except those that an earlier process has finished.
 *
 * @throws the abort reason when the run is stopped or one of its dependencies fails
 */
export async function collectPhase(session: TrainingSession, plan: PhasePlan): Promise<readonly FinishedRollout[]> {
  const { config, run, resourcesId, emit } = session;
  const { phase, step, tasks, rolloutsPerTask } = plan;
  const requests = planRollouts({
    // Part of the rollout ids: rollouts of different weights must not be mixed.
    phase: phase === 'before' ? phase : `${phase}-${step}`,
    step,
    tasks,
    rolloutsPerTask,
    mode: phase === 'step' ? 'train' : 'test',
    runId: run.runId,
    resourcesId,
    timeoutMs: config.rolloutTimeoutMs,
    maxAttempts: config.maxAttempts,
  });
  return await collectRollouts(requests, {
    store: session.store,
    signal: AbortSignal.any([session.failure, session.signal]),
    assertHealthy: session.assertHealthy,
    onProgress: (finished, total) => emit({ type: 'rollout-finished', phase, step, finished, total }),
  });
}
