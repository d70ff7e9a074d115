import { AgentLightningError } from '@agentlightning/core';
import type { RewardPart, RewardParts } from '@agentlightning/core/algorithm';
import { invalidOption, shown } from './base/part.ts';
import { type ScorerArguments, type ScoringObject, type ScoringResult, scorer } from './scorers/scorer.ts';

/** A part of a reward: of this package, a scorer of another library, or a function. */
export type PartValue<TTask = unknown, TOutput = unknown> =
  | RewardPart<TTask, TOutput>
  | ScoringObject
  | ((args: ScorerArguments<TTask, TOutput>) => ScoringResult);

/** The settings of a reward. */
export interface RewardsOptions {
  /** The part that counts as the primary one. @default the first */
  readonly primary?: string;
  /** Lowest and highest possible reward. @default 0 to 1, extended to the observed rewards */
  readonly range?: readonly [low: number, high: number];
  /** Reward of a rollout whose agent failed; null excludes it. @default 0 */
  readonly failed?: number | null;
  /** Reward of a rollout without one; null excludes it. @default null */
  readonly missing?: number | null;
}

/** A reward of parts, for the key `reward` of a configuration. */
export interface ConfiguredRewards<TTask = unknown, TOutput = unknown>
  extends RewardParts<TTask, TOutput>,
    RewardsOptions {
  /** The part that counts as the primary one. @default the first */
  readonly primary?: string;
}

/**
 * A reward of named parts, for the key `reward` of a configuration. The first part is the primary one.
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   agent,
 *   reward: rewards({
 *     correct: exact((task: Task) => task.answer),
 *     tone: scorer(Factuality, { weight: 0.3 }),
 *     format: jsonSchema(answerSchema, { weight: 0.1 }),
 *   }),
 * });
 * ```
 *
 * @throws AgentLightningError CONFIG for a part without a known shape, no part, or a primary part that does not exist
 */
export function rewards<TTask = unknown, TOutput = unknown>(
  parts: Readonly<Record<string, PartValue<TTask, TOutput>>>,
  options: RewardsOptions = {},
): ConfiguredRewards<TTask, TOutput> {
  const named = Object.entries(parts).map(([name, part]): [string, RewardPart<TTask, TOutput>] => [
    name,
    isPart(part) ? part : namedScorer(name, part),
  ]);
  if (named.length === 0) throw invalidOption('parts', parts, 'at least one part');
  if (options.primary !== undefined && !Object.hasOwn(parts, options.primary)) {
    throw invalidOption('primary', options.primary, `one of ${Object.keys(parts).join(', ')}`);
  }
  return { parts: Object.fromEntries(named), ...options };
}

function isPart<TTask, TOutput>(value: PartValue<TTask, TOutput>): value is RewardPart<TTask, TOutput> {
  if (typeof value !== 'object' || value === null) return false;
  const { score, scoreGroup } = value as RewardPart;
  return typeof score === 'function' || typeof scoreGroup === 'function';
}

function namedScorer<TTask, TOutput>(name: string, part: PartValue<TTask, TOutput>): RewardPart<TTask, TOutput> {
  try {
    return scorer<TTask, TOutput>(part as ScoringObject);
  } catch (error) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `Part "${name}" of the reward is not a part or a scorer: ${shown(part)}`,
      remedy: 'Pass a part of this package, a scorer of another library, or a function.',
      cause: error,
    });
  }
}
