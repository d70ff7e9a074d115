import type { CollectedGroup, StepContext } from '@agentlightning/core/algorithm';
import type { AdamParameters } from '@agentlightning/core/training-runtime';
import { z } from 'zod';
import { hasMethod } from '../has-method.ts';
import type { RewardRule } from '../intermediate-reward/reward-rule.ts';
import { type Aggregation, aggregationSchema } from '../training-batch/aggregation.ts';
import { type CollectedTrajectories, collectTrajectories } from '../trajectory/collect-trajectories.ts';
import type { RowLevel } from '../trajectory/trajectory-from-transitions.ts';
import type { TransitionOptions } from '../transition/transitions-from-spans.ts';
import { type LearningRate, learningRateAt, learningRateSchema, type OptimizerPosition } from './learning-rate.ts';

/** Options of every algorithm that trains a model: which rollouts, how they are split, how large a step is. */
export interface StepOptions extends TransitionOptions {
  /**
   * How many rollouts of each task there are in a step. More give a better comparison and cost more.
   *
   * @default 8, unless the recipe says otherwise
   */
  readonly groupSize?: number;
  /**
   * Adam's learning rate, or its schedule: `{ schedule: 'cosine', peak: 1e-5, warmupSteps: 10 }`. It depends on the model
   * more than anything else: about 1e-6 for all weights of a model of billions, 1e-5 to 1e-4 for LoRA, 1e-3 and more for
   * the embedded runtime's tiny models.
   *
   * @default 1e-5
   */
  readonly learningRate?: LearningRate;
  /** Adam's other parameters. @default those of the runtime contract */
  readonly optimizer?: Omit<AdamParameters, 'learningRate'>;
  /**
   * How token losses are averaged. The default weighs all tokens the same, as the policy gradient does; see
   * {@link Aggregation} for why not every rollout the same.
   *
   * @default 'token-mean'
   */
  readonly aggregation?: Aggregation;
  /** How often the rollouts of a step are gone through. More learns faster from the same rollouts, less stably. @default 1 */
  readonly epochs?: number;
  /** Into how many optimizer steps each epoch is divided, by rollout. @default 1 */
  readonly minibatches?: number;
  /**
   * Whether model calls that continue each other, token by token, are trained as one row or as separate rows.
   * Both train the same tokens in the same contexts.
   *
   * @default 'trajectory'
   */
  readonly level?: RowLevel;
  /** Longest row that is trained on, in tokens, prompt and responses together. @default no limit */
  readonly maxTokens?: number;
  /** What happens to longer rows: left out, or cut at the end. @default 'drop' */
  readonly tooLong?: 'drop' | 'truncate';
  /** Most tokens of one batch, prompts included. A runtime that takes less is respected anyway. @default no limit */
  readonly maxBatchTokens?: number;
}

const positive = z.number().positive();
const fromZero = z.number().min(0).exactOptional();
const count = z.int().min(1).exactOptional();
const names = z.array(z.string().min(1)).min(1).exactOptional();

/** What is checked of each of the {@link StepOptions}, for the schema of an algorithm's options. */
export const stepOptionsShape: {
  readonly [TName in keyof StepOptions]-?: z.ZodExactOptional<z.ZodType<Exclude<StepOptions[TName], undefined>>>;
} = {
  groupSize: count,
  learningRate: learningRateSchema.exactOptional(),
  optimizer: z
    .strictObject({
      beta1: z.number().min(0).lt(1).exactOptional(),
      beta2: z.number().min(0).lt(1).exactOptional(),
      epsilon: positive.exactOptional(),
      weightDecay: fromZero,
      gradientClipNorm: fromZero,
    })
    .exactOptional(),
  aggregation: aggregationSchema.exactOptional(),
  epochs: count,
  minibatches: count,
  maxTokens: z.int().min(2).exactOptional(),
  level: z.enum(['trajectory', 'transition']).exactOptional(),
  tooLong: z.enum(['drop', 'truncate']).exactOptional(),
  maxBatchTokens: z.int().min(2).exactOptional(),
  agents: names,
  nodes: names,
  tags: names,
  models: names,
  onlyCalls: z
    .custom<NonNullable<StepOptions['onlyCalls']>>((value) => typeof value === 'function', {
      error: 'must be a function (call, trace) => boolean',
    })
    .exactOptional(),
  rewardName: z.string().min(1).exactOptional(),
  rewardWeights: z.record(z.string().min(1), z.number()).exactOptional(),
  missingReward: z.number().exactOptional(),
  intermediateRewards: z
    .array(z.custom<RewardRule>(hasMethod('judge'), { error: 'must be rules, such as air.onToolSuccess(0.1)' }))
    .exactOptional(),
};

/** The trajectories of a step, as the options cut them. */
export function collectStep(groups: readonly CollectedGroup[], options: StepOptions): CollectedTrajectories {
  const { maxTokens = Infinity, tooLong = 'drop' } = options;
  return collectTrajectories(groups, { ...options, rowLength: { maxTokens, tooLong } });
}

/** The parameters of an optimizer step, with its scheduled learning rate. */
export function adamAt(options: StepOptions, position: OptimizerPosition): AdamParameters {
  return { ...options.optimizer, learningRate: learningRateAt(options.learningRate ?? 1e-5, position) };
}

/** The learning rate of the last optimizer step of a training step. */
export function finalLearningRate(options: StepOptions, { step, totalSteps }: StepContext): number {
  return adamAt(options, { step, totalSteps }).learningRate;
}

/** The most tokens of one batch: the smaller of what the options and the runtime allow. */
export function batchLimit(options: StepOptions, context: StepContext): number {
  return Math.min(options.maxBatchTokens ?? Infinity, context.maxBatchTokens ?? Infinity);
}
