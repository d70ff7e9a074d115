import type { AdamParameters, AdvantageEstimator, CreditAssignment } from '@agentlightning/core';
import { z } from 'zod';
import { type AdvantageOptions, advantageOptionsSchema, advantageTypes } from '../advantage/advantage-options.ts';
import {
  type CreditAssignmentOptions,
  creditAssignmentOptionsSchema,
} from '../credit-assignment/credit-assignment-options.ts';
import { parseOptions } from '../parse-options.ts';
import { type Aggregation, aggregations } from '../training-batch/aggregation.ts';
import type { TransitionOptions } from '../transition/transitions-from-spans.ts';
import { type LearningRateSchedule, learningRateScheduleSchema } from './learning-rate.ts';
import { type LossOptions, lossIssues } from './loss-options.ts';

/** How GRPO learns. Everything is optional. */
export interface GrpoOptions extends LossOptions, TransitionOptions {
  /** How many rollouts of each task are compared, at least 2. More give a better baseline and cost more. @default 8 */
  readonly groupSize?: number;
  /**
   * Adam's learning rate. It depends on the model more than anything else: about 1e-6 for all weights of a model of
   * billions, 1e-5 to 1e-4 for LoRA, 1e-3 and more for the embedded runtime's tiny models.
   *
   * @default 1e-5
   */
  readonly learningRate?: number;
  /** @default { type: 'constant' } */
  readonly learningRateSchedule?: LearningRateSchedule;
  /** Adam's other parameters. @default those of the runtime contract */
  readonly optimizer?: Omit<AdamParameters, 'learningRate'>;
  /** What each turn deserves of the outcome: by name, or one of your own. @default { type: 'terminal' } */
  readonly creditAssignment?: CreditAssignmentOptions | CreditAssignment;
  /** How returns are compared: by name, or one of your own. @default { type: 'grpo' } */
  readonly advantage?: AdvantageOptions | AdvantageEstimator;
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
  /** Longest row that is trained on, in tokens, prompt and responses together. @default no limit */
  readonly maxTokens?: number;
  /** What happens to longer rows: left out, or cut at the end. @default 'drop' */
  readonly tooLong?: 'drop' | 'truncate';
  /** Most tokens of one batch, prompts included. A runtime that takes less is respected anyway. @default no limit */
  readonly maxBatchTokens?: number;
}

const positive = z.number().positive();
const coefficient = z.number().min(0).exactOptional();
const count = z.int().min(1).exactOptional();

const optimizerSchema = z.strictObject({
  beta1: z.number().min(0).lt(1).exactOptional(),
  beta2: z.number().min(0).lt(1).exactOptional(),
  epsilon: positive.exactOptional(),
  weightDecay: coefficient,
  gradientClipNorm: coefficient,
});

const grpoOptionsObject = z.strictObject({
  groupSize: z.int().min(2).exactOptional(),
  learningRate: positive.exactOptional(),
  learningRateSchedule: learningRateScheduleSchema.exactOptional(),
  optimizer: optimizerSchema.exactOptional(),
  creditAssignment: z
    .union([z.custom<CreditAssignment>(hasMethod('assign')), creditAssignmentOptionsSchema], {
      error: 'must be { type: "terminal" }, { type: "per-turn", discount } or an object with a method `assign`',
    })
    .exactOptional(),
  advantage: z
    .union([z.custom<AdvantageEstimator>(hasMethod('estimate')), advantageOptionsSchema], {
      error: `must be { type: "grpo" }, with one of ${advantageTypes.join(', ')} as type, or an object with a method \`estimate\``,
    })
    .exactOptional(),
  aggregation: z.enum(aggregations).exactOptional(),
  epochs: count,
  minibatches: count,
  maxTokens: z.int().min(2).exactOptional(),
  tooLong: z.enum(['drop', 'truncate']).exactOptional(),
  maxBatchTokens: z.int().min(2).exactOptional(),
  agents: z.array(z.string()).min(1).exactOptional(),
  rewardName: z.string().min(1).exactOptional(),
  loss: z.enum(['ppo', 'importance_sampling', 'cispo']).exactOptional(),
  clipLow: coefficient,
  clipHigh: coefficient,
  dualClip: z.union([z.literal(0), z.number().gt(1)]).exactOptional(),
  entropyCoefficient: coefficient,
  klCoefficient: coefficient,
});

/** The shape of {@link GrpoOptions}. */
const grpoOptionsSchema: z.ZodType<GrpoOptions> = grpoOptionsObject.check(({ value, issues }) => {
  for (const { path, message } of lossIssues(value))
    issues.push({ code: 'custom', input: value, path: [path], message });
});

/**
 * Checks options that came from outside, such as a configuration file.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parseGrpoOptions(options: unknown): GrpoOptions {
  return parseOptions(grpoOptionsSchema, options, {
    what: 'algorithm grpo',
    keys: Object.keys(grpoOptionsObject.shape),
  });
}

function hasMethod(name: string): (value: unknown) => boolean {
  return (value) => typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function';
}
