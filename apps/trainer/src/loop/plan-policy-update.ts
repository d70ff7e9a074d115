import type { CollectedRollout, StepContext, StepPlan } from '@agentlightning/core/algorithm';
import type { RewardDefinition } from '../config/reward-definition.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { groupRollouts } from '../rollouts/collect-rollouts.ts';
import type { TrainedPolicy } from '../session/session-policies.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { scoreSequences } from './score-sequences.ts';

/** The plan of a policy's step. */
export interface PlannedUpdate {
  readonly plan: StepPlan;
  /** Of the weights before the step. */
  readonly policyVersion: number;
}

/** Plans the update of a policy from the rollouts of a step. */
export async function planPolicyUpdate(
  { config, capabilities }: TrainingSession,
  policy: TrainedPolicy,
  { collected, step }: { readonly collected: readonly FinishedRollout[]; readonly step: number },
): Promise<PlannedUpdate> {
  const { learner, model, reference } = policy;
  const { maxBatchTokens } = capabilities;
  const groups = groupRollouts(collected.map((rollout) => withFailedReward(rollout, config.reward)));
  const { policyVersion } = await model.state();
  const context: StepContext = {
    step,
    totalSteps: config.steps,
    policyVersion,
    seed: (spreadSeed(config.seed) + step) >>> 0,
    maxBatchTokens,
  };
  const request = learner.scoring?.(groups, context) ?? null;
  if (request === null) return { plan: learner.planStep(groups, context), policyVersion };
  const scores = await scoreSequences(request, { model, reference, maxBatchTokens });
  return { plan: learner.planStep(groups, { ...context, scores }), policyVersion };
}

/** Gives a rollout whose agent failed its reward. What infrastructure failed has none, also when the agent hid the failure. */
function withFailedReward(finished: FinishedRollout, { failedReward }: RewardDefinition): CollectedRollout {
  const { rollout, attemptId, spans, failure } = finished;
  if (failure === 'agent' && failedReward !== null) return { rollout, attemptId, spans, failedReward };
  return failure === 'infrastructure' ? { rollout: { ...rollout, status: 'failed' }, attemptId, spans } : finished;
}

/** Spreads neighbouring seeds: the seeds of step 2 of seed 1 and step 1 of seed 2 differ. */
function spreadSeed(seed: number): number {
  return Math.imul(seed + 1, 0x9e3779b1) >>> 0;
}
