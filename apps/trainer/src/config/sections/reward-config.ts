import type { RewardFunction, RewardPart } from '@agentlightning/core/algorithm';
import { parseSettings } from '@agentlightning/core/settings';
import type { OutputScoring } from '@agentlightning/runner';
import { z } from 'zod';

/**
 * The reward: how it is computed from what the agent returns, and its range, parts and substitutes, in training and
 * evaluations. `rewards()` of `@agentlightning/rewards` returns it.
 */
export interface RewardConfig<TTask = unknown, TOutput = unknown> {
  /**
   * The parts of the reward, by name. Those with `score` or `scoreGroup` are computed after the agent, in its process; others
   * are returned by the agent. The reward is the sum of the parts that are computed or have a weight, each times its weight,
   * unless the algorithm has `rewardName` or `rewardWeights`. Mean, standard deviation and share of each part are metrics of
   * every step, also of parts that are not listed here.
   *
   * @default {}
   */
  readonly parts?: Readonly<Record<string, RewardPart<TTask, TOutput>>>;
  /** The part that counts as the primary one, where parts are computed. @default the first of them */
  readonly primary?: string;
  /**
   * Lowest and highest possible reward, also for confidence intervals. Rewards outside this range are counted in
   * `reward/out_of_range` and reported.
   *
   * @default 0 to 1, extended to the observed rewards; nothing is reported
   */
  readonly range?: readonly [low: number, high: number];
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

/** The reward of a configuration: a function of the agent's output, or its parts and settings. */
export type ConfiguredReward<TTask = unknown, TOutput = unknown> =
  | RewardFunction<TTask, TOutput>
  | RewardConfig<TTask, TOutput>;

/** Lowest and highest possible reward. */
export type RewardRange = readonly [low: number, high: number];

/** The settings of rewards with their defaults. */
export interface RewardsSettings {
  /** The declared range of the primary dimension; null without one. */
  readonly range: RewardRange | null;
  /** The declared parts, by name. */
  readonly parts: Readonly<Record<string, RewardPartSettings>>;
  /** The name of the primary part, where parts have weights; null where the agent names it. */
  readonly primary: string | null;
  /** How outputs of agents are scored; null for agents that return their reward, and for runners elsewhere. */
  readonly scoring: OutputScoring | null;
  /** Null excludes rollouts of failed agents. */
  readonly failed: number | null;
  /** Null excludes rollouts without a reward. */
  readonly missing: number | null;
}

/** The settings of a part of the reward. */
export interface RewardPartSettings {
  readonly range: RewardRange | null;
  /** Null for a part that the agent returns, without a weight. */
  readonly weight: number | null;
}

const range = z
  .tuple([z.number(), z.number()])
  .refine(([low, high]) => low < high, { error: 'must be [low, high] with low below high' });

const scorer = z.custom<RewardPart['score']>((value) => typeof value === 'function', 'must be a function').optional();

const partSchema = z
  .strictObject({
    score: scorer,
    scoreGroup: z
      .custom<RewardPart['scoreGroup']>((value) => typeof value === 'function', 'must be a function')
      .optional(),
    weight: z.number().optional(),
    range: range.optional(),
    prompt: z.string().optional(),
    meter: z.custom<RewardPart['meter']>((value) => typeof value === 'object', 'must be an object').optional(),
  })
  .refine(({ score, scoreGroup }) => score === undefined || scoreGroup === undefined, {
    error: 'has `score` or `scoreGroup`, not both',
  });

const configSchema = z
  .strictObject({
    parts: z.record(z.string().min(1), partSchema).default({}),
    primary: z.string().optional(),
    range: range.nullable().default(null),
    failed: z.number().nullable().default(0),
    missing: z.number().nullable().default(null),
  })
  .refine(({ parts, primary }) => primary === undefined || Object.hasOwn(parts, primary), {
    path: ['primary'],
    error: 'must be the name of a part',
  });

/** Validates {@link ConfiguredReward}. */
export const rewardSchema: z.ZodType<RewardsSettings> = z
  .union([
    z.custom<RewardFunction>((value) => typeof value === 'function', 'must be a function or an object'),
    configSchema,
  ])
  .transform((given) => (typeof given === 'function' ? rewardByFunction(given) : rewardByParts(given)));

/**
 * How a configured reward scores outputs; null where agents return their reward.
 *
 * @throws AgentLightningError CONFIG for an invalid reward
 */
export function scoringOf(reward: unknown): OutputScoring | null {
  return reward === undefined ? null : parseSettings(rewardSchema, reward, { within: ['reward'] }).scoring;
}

function rewardByFunction(scoring: RewardFunction): RewardsSettings {
  return { range: null, parts: {}, primary: null, scoring, failed: 0, missing: null };
}

function rewardByParts({ parts, primary, range, failed, missing }: z.infer<typeof configSchema>): RewardsSettings {
  const computed = Object.fromEntries(Object.entries(parts).filter(([, part]) => isComputed(part))) as Readonly<
    Record<string, RewardPart>
  >;
  const isScored = Object.keys(computed).length > 0;
  const first = Object.keys(computed)[0] ?? Object.keys(parts).find((name) => parts[name]?.weight !== undefined);
  const settings = Object.entries(parts).map(([name, part]): [string, RewardPartSettings] => [
    name,
    { range: part.range ?? null, weight: isComputed(part) ? (part.weight ?? 1) : (part.weight ?? null) },
  ]);
  return {
    range,
    parts: Object.fromEntries(settings),
    primary: primary ?? first ?? null,
    scoring: isScored ? { parts: computed, ...(primary === undefined ? {} : { primary }) } : null,
    failed,
    missing,
  };
}

function isComputed(part: RewardPart | z.infer<typeof partSchema> | undefined): boolean {
  return part?.score !== undefined || part?.scoreGroup !== undefined;
}
