import type { Algorithm } from '@agentlightning/core';
import type { Trajectory } from '@agentlightning/core/algorithm';
import { runMetrics } from '@agentlightning/core/metrics';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { mean } from '../advantage/sample-statistics.ts';
import { scoredAlike } from '../advantage/score-trajectories.ts';
import { pairLoss } from '../preference/preference-loss.ts';
import { type PairOptions, type PreferencePair, preferencePairs } from '../preference/preference-pairs.ts';
import { comparedScores, scoredResponse } from '../preference/scored-responses.ts';
import { scoringData } from '../rows/row-scores.ts';
import { stepMetrics } from '../step/step-metrics.ts';
import { adamAt, batchLimit, collectStep, type StepOptions, stepOptionsShape } from '../step/step-options.ts';
import { trainingBatches } from '../training-batch/training-batches.ts';

/** Options of direct preference optimisation. */
export interface PreferenceOptions extends Omit<StepOptions, 'aggregation' | 'epochs' | 'minibatches'>, PairOptions {
  /** Strength of the constraint to the reference policy, above 0. Smaller values allow a larger divergence. @default 0.1 */
  readonly beta?: number;
}

const { aggregation, epochs, minibatches, ...shape } = stepOptionsShape;
const optionsObject = z.strictObject({
  ...shape,
  beta: z.number().positive().exactOptional(),
  minGap: z.number().min(0).exactOptional(),
  pairsPerTask: z.int().min(1).exactOptional(),
});

/**
 * Validates options from outside.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parsePreferenceOptions(options: unknown): PreferenceOptions {
  const schema: z.ZodType<PreferenceOptions> = optionsObject;
  return parseSettings(schema, options, { what: 'algorithm dpo' });
}

/**
 * Direct preference optimisation: prefers the best rollout of every task to the worst, regularised by the initial model of
 * the run. Rafailov et al., arXiv 2305.18290.
 *
 * A step is one gradient step on the pairs. The gradient weight of each pair is computed here, from the log-probabilities of
 * both rollouts under the policy and the reference; the runtime gets cross-entropy with these weights, negative for the
 * rejected rollout, which has the same gradient. `groupSize` 4, `beta` 0.1 and `pairsPerTask` 1 unless given.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = dpo({ beta: 0.1, minGap: 0.5, learningRate: 5e-6 });
 * ```
 */
export function dpo(options: PreferenceOptions = {}): Algorithm {
  const settings = parsePreferenceOptions(options);
  const { beta = 0.1 } = settings;
  return {
    name: 'dpo',
    groupSize: settings.groupSize ?? 4,
    scoring: (groups, { policyVersion }) => {
      const data = scoringData(
        pairedTrajectories(pairsOf(collectStep(groups, settings).trajectories, settings)),
        policyVersion,
      );
      return data.length === 0 ? null : { policies: ['current', 'reference'], data };
    },
    planStep: (groups, context) => {
      const collected = collectStep(groups, settings);
      const pairs = pairsOf(collected.trajectories, settings);
      const paired = pairedTrajectories(pairs);
      const scores = comparedScores('dpo', paired, context);
      const losses = pairs.map(({ chosen, rejected }) =>
        pairLoss(scoredResponse(chosen, scores), scoredResponse(rejected, scores), beta),
      );
      const scored = paired.map(scoredAlike);
      const batches = trainingBatches(scored, {
        aggregation: 'token-sum',
        keepZeroAdvantages: false,
        currentPolicyVersion: context.policyVersion,
        maxBatchTokens: batchLimit(settings, context),
        columnsOf: pulls(
          pairs,
          losses.map(({ pull }) => pull),
        ),
      });
      const optimizer = adamAt(settings, { step: context.step, totalSteps: context.totalSteps });
      const withoutReturn = collected.trajectories.filter(({ reward }) => reward === null).length;
      return {
        updates: batches.length === 0 ? [] : [{ batches, loss: { name: 'cross_entropy', parameters: {} }, optimizer }],
        metrics: {
          ...stepMetrics(collected, { scored, withoutReturn, singletonGroups: 0, constantGroups: 0 }, context),
          [runMetrics.preferencePairs.name]: pairs.length,
          ...(losses.length === 0
            ? {}
            : {
                [runMetrics.preferenceLoss.name]: mean(losses.map(({ loss }) => loss)),
                [runMetrics.preferenceMargin.name]: mean(losses.map(({ margin }) => margin)),
                [runMetrics.preferenceAccuracy.name]: mean(losses.map(({ margin }) => (margin > 0 ? 1 : 0))),
              }),
          [runMetrics.learningRate.name]: optimizer.learningRate,
        },
      };
    },
  };
}

type Pair = PreferencePair<Trajectory>;

/** Pairs of rollouts with trainable tokens. */
function pairsOf(trajectories: readonly Trajectory[], settings: PreferenceOptions): readonly Pair[] {
  return preferencePairs(
    trajectories.filter(({ rows }) => rows.length > 0),
    settings,
  );
}

function pairedTrajectories(pairs: readonly Pair[]): readonly Trajectory[] {
  return pairs.flatMap(({ chosen, rejected }) => [chosen, rejected]);
}

/** Weights are `1 / rollouts`, with two rollouts per pair, and the loss is a mean over pairs: hence the factor 2. */
function pulls(
  pairs: readonly Pair[],
  pullOf: readonly number[],
): NonNullable<Parameters<typeof trainingBatches>[1]['columnsOf']> {
  const factors = new Map(
    pairs.flatMap(({ chosen, rejected }, index) => [
      ...chosen.rows.map((row) => [row, 2 * (pullOf[index] ?? 0)] as const),
      ...rejected.rows.map((row) => [row, -2 * (pullOf[index] ?? 0)] as const),
    ]),
  );
  return (row) => ({ weightFactors: new Float32Array(row.samplingLogprobs.length).fill(factors.get(row) ?? 0) });
}
