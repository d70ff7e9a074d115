import type { CollectedGroup, StepContext } from '@agentlightning/core/algorithm';
import type { AdamParameters } from '@agentlightning/core/training-runtime';
import { z } from 'zod';
import { hasMethod } from '../base/has-method.ts';
import { type Aggregation, aggregationSchema } from '../training-batch/aggregation.ts';
import { type CollectedTrajectories, collectTrajectories } from '../trajectory/collect-trajectories.ts';
import type { RowLevel } from '../trajectory/trajectory-from-transitions.ts';
import type { RewardRule } from '../transition/reward-rule.ts';
import type { TransitionOptions } from '../transition/transitions-from-spans.ts';
import { type LearningRate, learningRateAt, learningRateSchema, type OptimizerPosition } from './learning-rate.ts';

/** Options of all algorithms that train a model: selection of rollouts, batching, optimizer. */
export interface StepOptions extends TransitionOptions {
  /**
   * Number of rollouts per task and step. More rollouts reduce the variance of advantages and cost more.
   *
   * @default 8, unless the recipe says otherwise
   */
  readonly groupSize?: number;
  /**
   * Adam's learning rate, or its schedule: `{ schedule: 'cosine', peak: 1e-5, warmupSteps: 10 }`. It depends mainly on the
   * model: about 1e-6 for full fine-tuning of a model with billions of parameters, 1e-5 to 1e-4 for LoRA, 1e-3 and more for
   * the embedded runtime's tiny models.
   *
   * @default 1e-5; in a training, by what is trained: 1e-4 for LoRA; for all weights 1e-6 from 1e9 weights on, 1e-5 below, and
   *   2e-3 below 1e7, as in the embedded runtime
   */
  readonly learningRate?: LearningRate;
  /** Adam's other parameters. @default those of the runtime contract */
  readonly optimizer?: Omit<AdamParameters, 'learningRate'>;
  /**
   * Aggregation of token losses. The default gives all tokens the same weight, as in the policy gradient;
   * {@link Aggregation} describes the alternatives.
   *
   * @default 'token-mean'
   */
  readonly aggregation?: Aggregation;
  /**
   * Number of passes over the rollouts of a step. More passes learn faster from the same rollouts but are less stable.
   * @default 1
   */
  readonly epochs?: number;
  /** Number of optimizer steps per epoch, split by rollout. @default 1 */
  readonly minibatches?: number;
  /**
   * Whether model calls that continue each other, token by token, are one row or separate rows. Both train the same tokens
   * in the same contexts.
   *
   * @default 'trajectory'
   */
  readonly level?: RowLevel;
  /** Maximum row length in tokens, prompts and responses together. @default no limit */
  readonly maxTokens?: number;
  /** Whether longer rows are dropped or truncated at the end. @default 'drop' */
  readonly tooLong?: 'drop' | 'truncate';
  /**
   * Maximum number of tokens per batch, prompts included. A lower limit of the runtime takes precedence.
   * @default no limit
   */
  readonly maxBatchTokens?: number;
}

const positive = z.number().positive();
const fromZero = z.number().min(0).exactOptional();
const count = z.int().min(1).exactOptional();
const names = z.array(z.string().min(1)).min(1).exactOptional();

/** Fields of {@link StepOptions}, for the schema of an algorithm. */
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

/** The trajectories of a step, with row limits applied. */
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

/** Maximum number of tokens per batch: the smaller limit of options and runtime. */
export function batchLimit(options: StepOptions, context: StepContext): number {
  return Math.min(options.maxBatchTokens ?? Infinity, context.maxBatchTokens ?? Infinity);
}
