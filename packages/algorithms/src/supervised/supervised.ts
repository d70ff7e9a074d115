import type { Algorithm } from '@agentlightning/core';
import type { ModelUpdate } from '@agentlightning/core/algorithm';
import { runMetrics } from '@agentlightning/core/metrics';
import { scoredAlike } from '../advantage/score-trajectories.ts';
import { stepMetrics } from '../step/step-metrics.ts';
import { adamAt, batchLimit, collectStep, finalLearningRate } from '../step/step-options.ts';
import { minibatches, trainingBatches } from '../training-batch/training-batches.ts';
import { parseSupervisedOptions, type SupervisedOptions } from './supervised-options.ts';

/** Selection of rollouts to imitate. */
export type Selection = Pick<SupervisedOptions, 'minReward' | 'keepBest'>;

/** The selected rollouts by group, in descending order of reward; all of them without a selection. */
export function selectBest<TJudged extends { readonly groupId: string; readonly reward: number | null }>(
  judged: readonly TJudged[],
  { minReward, keepBest }: Selection,
): readonly TJudged[] {
  if (minReward === undefined && keepBest === undefined) return judged;
  return [...Map.groupBy(judged, ({ groupId }) => groupId).values()].flatMap((members) =>
    members
      .flatMap((one) => (one.reward === null ? [] : [{ one, reward: one.reward }]))
      .filter(({ reward }) => reward >= (minReward ?? Number.NEGATIVE_INFINITY))
      // Sorting is stable, so the result is deterministic for equal rewards.
      .sort((left, right) => right.reward - left.reward)
      .slice(0, keepBest ?? Infinity)
      .map(({ one }) => one),
  );
}

/**
 * Supervised fine-tuning on the completions of successful rollouts, such as those of an agent with more context than in
 * production.
 *
 * Loss: `-mean(log p)` over sampled tokens (maximum likelihood). Its own defaults: `groupSize` 1; all rollouts are imitated
 * unless `minReward` or `keepBest` selects some.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = sft({ learningRate: 1e-4, minReward: 1 });
 * ```
 */
export function sft(options: SupervisedOptions = {}): Algorithm {
  return supervised('sft', parseSupervisedOptions('sft', { groupSize: 1 }, options));
}

/**
 * The implementation of the supervised recipes: selects rollouts and trains on their sampled tokens with cross-entropy.
 * Prompt tokens are context and not trained on.
 *
 * @param name - the recipe's name
 * @param settings - validated options with the recipe's defaults
 */
export function supervised(name: string, settings: SupervisedOptions): Algorithm {
  return {
    name,
    groupSize: settings.groupSize ?? 8,
    planStep: (groups, context) => {
      const collected = collectStep(groups, settings);
      // A rollout without trained tokens must not be selected instead of one that can be imitated, nor one that failed.
      const trainable = collected.trajectories.filter(({ rows, isFailed }) => rows.length > 0 && isFailed !== true);
      const imitated = selectBest(trainable, settings).map(scoredAlike);
      const { epochs = 1, minibatches: parts = 1 } = settings;
      const updates = minibatches(imitated, { epochs, minibatches: parts, seed: context.seed }).map(
        (part, update, { length: updates }): ModelUpdate => ({
          batches: trainingBatches(part, {
            aggregation: settings.aggregation ?? 'token-mean',
            keepZeroAdvantages: false,
            currentPolicyVersion: context.policyVersion,
            maxBatchTokens: batchLimit(settings, context),
          }),
          loss: { name: 'cross_entropy', parameters: {} },
          optimizer: adamAt(settings, { ...context, update, updates }),
        }),
      );
      const withoutReturn = collected.trajectories.filter(({ reward }) => reward === null).length;
      return {
        updates: updates.filter(({ batches }) => batches.length > 0),
        metrics: {
          ...stepMetrics(
            collected,
            { scored: imitated, withoutReturn, singletonGroups: 0, constantGroups: 0 },
            context,
          ),
          [runMetrics.rolloutsImitated.name]: imitated.length,
          [runMetrics.learningRate.name]: finalLearningRate(settings, context),
        },
      };
    },
  };
}
