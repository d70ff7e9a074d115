import type { Algorithm } from '@agentlightning/core';
import type { Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';
import { runMetrics } from '@agentlightning/core/metrics';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { mean } from '../advantage/sample-statistics.ts';
import { scoredAlike } from '../advantage/score-trajectories.ts';
import { comparedScores, scoredResponse } from '../preference/scored-responses.ts';
import { type LabelledResponse, unpairedLosses } from '../preference/unpaired-loss.ts';
import { type ScoresByRow, scoringData } from '../rows/row-scores.ts';
import { stepMetrics } from '../step/step-metrics.ts';
import { adamAt, batchLimit, collectStep, type StepOptions, stepOptionsShape } from '../step/step-options.ts';
import { trainingBatches } from '../training-batch/training-batches.ts';

/** Options of Kahneman-Tversky optimisation. */
export interface UnpairedPreferenceOptions extends Omit<StepOptions, 'aggregation' | 'epochs' | 'minibatches'> {
  /** Strength of the constraint to the reference policy, above 0. Smaller values allow a larger divergence. @default 0.1 */
  readonly beta?: number;
  /** The smallest reward of a desirable rollout; rollouts with a smaller reward are undesirable. @default 0.5 */
  readonly threshold?: number;
  /** Weight of desirable rollouts, above 0. @default 1 */
  readonly desirableWeight?: number;
  /** Weight of undesirable rollouts, above 0. @default 1 */
  readonly undesirableWeight?: number;
}

const { aggregation, epochs, minibatches, ...shape } = stepOptionsShape;
const positive = z.number().positive().exactOptional();
const optionsObject = z.strictObject({
  ...shape,
  beta: positive,
  threshold: z.number().exactOptional(),
  desirableWeight: positive,
  undesirableWeight: positive,
});

/**
 * Kahneman-Tversky optimisation: makes desirable rollouts more likely and undesirable ones less likely, regularised by the
 * initial model of the run. It needs no pairs: a verdict on each rollout, such as a thumb of a user, is sufficient. Ethayarajh
 * et al., arXiv 2402.01306.
 *
 * A step is one gradient step on its rollouts. Their reference point, the divergence from the initial model, is estimated from
 * the response of the previous rollout after the prompt of each, as in TRL: use at least 8 rollouts per step. The runtime gets
 * cross-entropy with signed weights, which has the same gradient. `groupSize` 1, `beta` 0.1 and `threshold` 0.5 unless given.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = kto({ beta: 0.1, threshold: 0.5, learningRate: 5e-6 });
 * ```
 */
export function kto(options: UnpairedPreferenceOptions = {}): Algorithm {
  const schema: z.ZodType<UnpairedPreferenceOptions> = optionsObject;
  const settings = parseSettings(schema, options, { what: 'algorithm kto' });
  return {
    name: 'kto',
    groupSize: settings.groupSize ?? 1,
    scoring: (groups, { policyVersion }) => {
      const judged = judgedOf(collectStep(groups, settings).trajectories);
      const data = scoringData([...judged, ...mismatched(judged)], policyVersion);
      return data.length === 0 ? null : { policies: ['current', 'reference'], data };
    },
    planStep: (groups, context) => {
      const collected = collectStep(groups, settings);
      const judged = judgedOf(collected.trajectories);
      const others = mismatched(judged);
      const scores = comparedScores('kto', [...judged, ...others], context);
      const { threshold = 0.5 } = settings;
      const labelled = judged.map(
        (trajectory): LabelledResponse => ({
          logRatio: logRatio(trajectory, scores),
          isDesirable: trajectory.reward >= threshold,
        }),
      );
      const { losses, pulls, kl } = unpairedLosses(
        labelled,
        others.map((other) => logRatio(other, scores)),
        settings,
      );
      const factors = new Map(
        judged.flatMap(({ rows }, index) => rows.map((row) => [row, pulls[index] ?? 0] as const)),
      );
      const scored = judged.map(scoredAlike);
      const batches = trainingBatches(scored, {
        aggregation: 'token-sum',
        keepZeroAdvantages: false,
        currentPolicyVersion: context.policyVersion,
        maxBatchTokens: batchLimit(settings, context),
        columnsOf: (row) => ({
          weightFactors: new Float32Array(row.samplingLogprobs.length).fill(factors.get(row) ?? 0),
        }),
      });
      const optimizer = adamAt(settings, { step: context.step, totalSteps: context.totalSteps });
      const withoutReturn = collected.trajectories.filter(({ reward }) => reward === null).length;
      return {
        updates: batches.length === 0 ? [] : [{ batches, loss: { name: 'cross_entropy', parameters: {} }, optimizer }],
        metrics: {
          ...stepMetrics(collected, { scored, withoutReturn, singletonGroups: 0, constantGroups: 0 }, context),
          ...(losses.length === 0
            ? {}
            : {
                [runMetrics.preferenceLoss.name]: mean(losses),
                [runMetrics.preferenceKl.name]: kl,
                [runMetrics.preferenceDesirable.name]: mean(labelled.map(({ isDesirable }) => (isDesirable ? 1 : 0))),
              }),
          [runMetrics.learningRate.name]: optimizer.learningRate,
        },
      };
    },
  };
}

type JudgedTrajectory = Trajectory & { readonly reward: number };

/** The rollouts with a reward and training tokens. */
function judgedOf(trajectories: readonly Trajectory[]): readonly JudgedTrajectory[] {
  return trajectories.filter(
    (trajectory): trajectory is JudgedTrajectory => trajectory.reward !== null && trajectory.rows.length > 0,
  );
}

/**
 * For each rollout its first prompt with the response of the previous one, at most as long as the longest row; none for a single
 * rollout.
 */
function mismatched(judged: readonly Trajectory[]): readonly Trajectory[] {
  if (judged.length < 2) return [];
  const longest = Math.max(...judged.flatMap(({ rows }) => rows.map(({ tokenIds }) => tokenIds.length)));
  return judged.flatMap((trajectory, index) => {
    const [own] = trajectory.rows;
    const other = judged.at(index - 1)?.rows[0];
    if (own === undefined || other === undefined) return [];
    return [{ ...trajectory, rows: [joinedRow(own, other, longest)] }];
  });
}

/** The tokens before the first response of a row, then the responses of another row. */
function joinedRow(prompt: TrajectoryRow, response: TrajectoryRow, maxTokens: number): TrajectoryRow {
  const promptEnd = prompt.trained[0]?.start ?? 0;
  const responseStart = response.trained[0]?.start ?? 0;
  const shift = promptEnd - responseStart;
  const tokenIds = [...prompt.tokenIds.slice(0, promptEnd), ...response.tokenIds.slice(responseStart)].slice(
    0,
    maxTokens,
  );
  const trained = response.trained.flatMap((interval) => {
    const start = interval.start + shift;
    const end = Math.min(interval.end + shift, tokenIds.length);
    return end <= start ? [] : [{ ...interval, start, end }];
  });
  const count = trained.reduce((sum, { start, end }) => sum + end - start, 0);
  return { ...response, tokenIds, trained, samplingLogprobs: response.samplingLogprobs.slice(0, count) };
}

/** The log-probability of all sampled tokens under the policy, minus that under the reference. */
function logRatio(trajectory: Trajectory, scores: ScoresByRow): number {
  const { current, reference } = scoredResponse(trajectory, scores);
  return current - reference;
}
