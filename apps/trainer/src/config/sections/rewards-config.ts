import { z } from 'zod';

/** Range, dimensions and substitutes of rewards, in training and evaluations. */
export interface RewardsConfig {
  /**
   * Lowest and highest possible reward, also for confidence intervals. Rewards outside this range are counted in
   * `reward/out_of_range` and reported.
   *
   * @default 0 to 1, extended to the observed rewards; nothing is reported
   */
  readonly range?: readonly [low: number, high: number];
  /**
   * The dimensions of the reward, by name, with the range of each. Mean, standard deviation and share of each dimension are
   * metrics of every step, also without this. `rewardWeights` of the algorithm weighs them.
   *
   * @default {}
   */
  readonly parts?: Readonly<Record<string, { readonly range?: readonly [low: number, high: number] }>>;
  /**
   * Reward of a rollout whose agent failed: it threw, for example on a malformed response, or exceeded its timeout. null
   * excludes such rollouts. Infrastructure failures never count: of a service, or of a model that had not responded for half
   * of the timeout or longer.
   *
   * @default 0
   */
  readonly failed?: number | null;
  /** Reward of a rollout that succeeded without one; null excludes it. @default null */
  readonly missing?: number | null;
}

/** Lowest and highest possible reward. */
export type RewardRange = readonly [low: number, high: number];

/** The settings of rewards with their defaults. */
export interface RewardsSettings {
  /** The declared range of the primary dimension; null without one. */
  readonly range: RewardRange | null;
  /** The declared dimensions, by name. */
  readonly parts: Readonly<Record<string, { readonly range: RewardRange | null }>>;
  /** Null excludes rollouts of failed agents. */
  readonly failed: number | null;
  /** Null excludes rollouts without a reward. */
  readonly missing: number | null;
}

const range = z
  .tuple([z.number(), z.number()])
  .refine(([low, high]) => low < high, { error: 'must be [low, high] with low below high' })
  .nullable()
  .default(null);

/** Validates {@link RewardsConfig}. */
export const rewardsSchema: z.ZodType<RewardsSettings> = z.strictObject({
  range,
  parts: z.record(z.string().min(1), z.strictObject({ range })).default({}),
  failed: z.number().nullable().default(0),
  missing: z.number().nullable().default(null),
});
