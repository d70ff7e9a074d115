import type { CollectedRollout, StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { groupRollouts } from '../rollouts/collect-rollouts.ts';
import type { TrainedPolicy } from '../session/session-policies.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { scoreSequences } from './score-sequences.ts';

/** Plans the update of a policy from the rollouts of a step. */
export async function planPolicyUpdate(
  { config, capabilities }: TrainingSession,
  policy: TrainedPolicy,
  { collected, step }: { readonly collected: readonly CollectedRollout[]; readonly step: number },
): Promise<StepPlan> {
  const { learner, model, reference } = policy;
  const { maxBatchTokens } = capabilities;
  const groups = groupRollouts(collected);
  const context: StepContext = {
    step,
    totalSteps: config.steps,
    policyVersion: (await model.state()).policyVersion,
    seed: (spreadSeed(config.seed) + step) >>> 0,
    maxBatchTokens,
  };
  const request = learner.scoring?.(groups, context) ?? null;
  if (request === null) return learner.planStep(groups, context);
  const scores = await scoreSequences(request, { model, reference, maxBatchTokens });
  return learner.planStep(groups, { ...context, scores });
}

/** Spreads neighbouring seeds: the seeds of step 2 of seed 1 and step 1 of seed 2 differ. */
function spreadSeed(seed: number): number {
  return Math.imul(seed + 1, 0x9e3779b1) >>> 0;
}
