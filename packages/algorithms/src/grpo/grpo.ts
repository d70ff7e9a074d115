import type { AdvantageEstimator, Algorithm, CreditAssignment, ModelUpdate } from '@agentlightning/core';
import { advantageEstimator } from '../advantage/advantage-options.ts';
import { scoreTrajectories } from '../advantage/score-trajectories.ts';
import { creditAssignment } from '../credit-assignment/credit-assignment-options.ts';
import { minibatches } from '../training-batch/minibatches.ts';
import { trainingBatches } from '../training-batch/training-batches.ts';
import { collectTrajectories } from '../trajectory/collect-trajectories.ts';
import { grpoMetrics } from './grpo-metrics.ts';
import { type GrpoOptions, parseGrpoOptions } from './grpo-options.ts';
import { learningRateFactor } from './learning-rate.ts';
import { lossSpec } from './loss-options.ts';

/**
 * Group relative policy optimisation: tries every task several times and makes what went better than the task's
 * average more likely, what went worse less likely. No critic is needed.
 *
 * `A = (R - mean(R)) / (std(R) + 1e-6)` over the rollouts of a task, for every sampled token; then the clipped policy
 * gradient of PPO. DeepSeekMath, arXiv 2402.03300, section 4.1. Advantages are made per rollout, so that a
 * rollout of many turns does not count several times in the mean.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = grpo({ groupSize: 8, learningRate: 2e-3, entropyCoefficient: 0.02 });
 * const { updates, metrics } = algorithm.planStep(groups, { step: 1, totalSteps: 20, policyVersion: 0, seed: 0 });
 * ```
 */
export function grpo(options: GrpoOptions = {}): Algorithm {
  const settings = parseGrpoOptions(options);
  const credit = creditOf(settings);
  const estimator = estimatorOf(settings);
  const loss = lossSpec(settings);
  const { maxTokens = Infinity, tooLong = 'drop', epochs = 1, minibatches: parts = 1 } = settings;
  return {
    name: 'grpo',
    groupSize: settings.groupSize ?? 8,
    planStep: (groups, context) => {
      const collected = collectTrajectories(groups, { ...settings, rowLength: { maxTokens, tooLong } });
      const scored = scoreTrajectories(collected.trajectories, credit, estimator);
      const optimizer = { ...settings.optimizer, learningRate: learningRateAt(settings, context) };
      const updates = minibatches(scored.scored, { epochs, minibatches: parts, seed: context.seed }).map(
        (part): ModelUpdate => ({
          batches: trainingBatches(part, {
            aggregation: settings.aggregation ?? 'token-mean',
            keepZeroAdvantages: (settings.entropyCoefficient ?? 0) > 0 || (settings.klCoefficient ?? 0) > 0,
            currentPolicyVersion: context.policyVersion,
            maxBatchTokens: Math.min(settings.maxBatchTokens ?? Infinity, context.maxBatchTokens ?? Infinity),
          }),
          loss,
          optimizer,
        }),
      );
      return {
        updates: updates.filter(({ batches }) => batches.length > 0),
        metrics: { ...grpoMetrics(collected, scored, context), 'optim/learning_rate': optimizer.learningRate },
      };
    },
  };
}

function creditOf({ creditAssignment: given = { type: 'terminal' } }: GrpoOptions): CreditAssignment {
  return 'assign' in given ? given : creditAssignment(given);
}

function estimatorOf({ advantage: given = { type: 'grpo' } }: GrpoOptions): AdvantageEstimator {
  return 'estimate' in given ? given : advantageEstimator(given);
}

function learningRateAt(
  { learningRate = 1e-5, learningRateSchedule = { type: 'constant' } }: GrpoOptions,
  { step, totalSteps }: { readonly step: number; readonly totalSteps: number },
): number {
  return learningRate * learningRateFactor(learningRateSchedule, step, totalSteps);
}
