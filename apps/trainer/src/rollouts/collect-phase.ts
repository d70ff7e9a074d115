import type { RolloutPhase } from '@agentlightning/core/protocol';
import type { EnqueueRolloutRequest } from '@agentlightning/core/store';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { type CollectOptions, collectRollouts } from './collect-rollouts.ts';
import { type NumberedTask, planRollouts } from './rollout-plan.ts';

/** The rollouts of a step or of an evaluation. */
export interface PhasePlan {
  readonly phase: RolloutPhase;
  /** The current step; for evaluations, the last finished one. */
  readonly step: number;
  readonly tasks: readonly NumberedTask[];
  readonly rolloutsPerTask: number;
  /** Part of the rollout ids, unique within the run. Rollouts of different weights must not be mixed. @default by phase and step */
  readonly key?: string;
}

/**
 * Runs the rollouts of a step or evaluation, except those that an earlier process has finished.
 *
 * @throws the abort reason when the run is stopped or one of its dependencies fails
 */
export async function collectPhase(session: TrainingSession, plan: PhasePlan): Promise<readonly FinishedRollout[]> {
  return await collectRollouts(planPhase(session, plan), phaseServices(session, plan));
}

/** Dependencies of collecting the rollouts of a step or evaluation. */
export function phaseServices(
  { config, store, failure, signal, assertHealthy, emit }: TrainingSession,
  { phase, step }: Pick<PhasePlan, 'phase' | 'step'>,
): CollectOptions {
  return {
    store,
    signal: AbortSignal.any([failure, signal]),
    assertHealthy,
    scoring: config.rewards.scoring,
    warn: (message) => emit({ type: 'warning', message }),
    onProgress: (finished, total) => emit({ type: 'rollout-finished', phase, step, finished, total }),
  };
}

/** The rollouts of a step or evaluation, or of a part of it. */
export function planPhase(
  { config, run, resourcesId }: TrainingSession,
  { phase, step, tasks, rolloutsPerTask, key = phase === 'before' ? phase : `${phase}-${step}` }: PhasePlan,
): readonly EnqueueRolloutRequest[] {
  return planRollouts({
    phase: key,
    step,
    tasks,
    rolloutsPerTask,
    mode: phase === 'step' ? 'train' : 'test',
    runId: run.runId,
    resourcesId,
    timeoutMs: config.limits.rolloutTimeoutMs,
    maxAttempts: config.limits.maxAttempts,
    stage: config.stage?.index ?? null,
    samplingSeed: config.gateway.url === null ? null : config.seed,
  });
}
