import type { RolloutMode } from '../spans/model-call.ts';
import type { Span } from '../spans/span.ts';

/**
 * A finished rollout, for the function that computes its reward.
 *
 * @typeParam TTask - the agent's task
 * @typeParam TOutput - the agent's return value
 */
export interface RewardInput<TTask = unknown, TOutput = unknown> {
  /** The task that the agent received. */
  readonly task: TTask;
  /** What the agent returned; null for nothing. */
  readonly output: TOutput;
  /** The id of the rollout in the store. */
  readonly rolloutId: string;
  /** The purpose of the rollout: `train`, `val` or `test`; null if unspecified. */
  readonly mode: RolloutMode | null;
  /**
   * Reads the spans of the attempt, such as its model and tool calls, in their order. They are read once, at the first call.
   */
  readonly spans: () => Promise<readonly Span[]>;
  /** Aborts when the time of the reward is over: pass it to requests. */
  readonly signal: AbortSignal;
  /** Whether caches of earlier verdicts must not be read, such as to measure the variance of a judge. @default false */
  readonly isFresh?: boolean;
}

/** A score with the reason for it. */
export interface ReasonedScore {
  /** A finite number, or whether the output is right: true counts as 1, false as 0. Null without a verdict. */
  readonly score: number | boolean | null;
  /** Shown in the dashboard, and read by prompt searches. @default none */
  readonly reason?: string;
}

/** The result of a part of the reward; null without a verdict, which leaves the part missing and is not 0. */
export type RewardVerdict = number | boolean | null | ReasonedScore;

/** A part of the reward: one dimension of it. Exactly one of `score` and `scoreGroup`, or neither where the agent returns it. */
export interface RewardPart<TTask = unknown, TOutput = unknown> {
  /** Scores one rollout. An error leaves the part missing. */
  score?(input: RewardInput<TTask, TOutput>): RewardVerdict | Promise<RewardVerdict>;
  /**
   * Scores all rollouts of a group together: the rollouts of one task in a training step, or in an evaluation.
   *
   * @returns the verdict of each, in their order
   */
  scoreGroup?(
    siblings: readonly RewardInput<TTask, TOutput>[],
  ): readonly RewardVerdict[] | Promise<readonly RewardVerdict[]>;
  /** Its weight in the sum that is maximised; 0 records it only. @default 1 */
  readonly weight?: number;
  /** Lowest and highest possible score. A score outside of it leaves the part missing. @default any */
  readonly range?: readonly [low: number, high: number];
  /** The prompt of its judge, which is recorded with the resources of the rollouts. @default none */
  readonly prompt?: string;
  /** What its calls of models have used. Parts that share one have the same object. @default none */
  readonly meter?: RewardMeter;
}

/** The calls of models that parts of the reward have made in this process. */
export interface RewardMeter {
  /** The name of the model, whose calls are recorded with the rollouts and count in the cost of a run. @default not recorded */
  readonly model?: string;
  /** The sums of all calls. */
  readonly usage: {
    /** Number of calls, repeated ones included. */
    readonly calls: number;
    /** In the currency of the configured prices; 0 without them. */
    readonly cost: number;
    /** Tokens of the prompts. @default 0 */
    readonly inputTokens?: number;
    /** Number of generated tokens. @default 0 */
    readonly outputTokens?: number;
  };
}

/**
 * Computes the reward of a rollout from the task, the agent's output and its spans: a verdict, or the score of each
 * dimension by name.
 *
 * @example
 * ```ts
 * const reward: RewardFunction<{ answer: string }, string> = ({ task, output }) => output.trim() === task.answer;
 * ```
 */
export type RewardFunction<TTask = unknown, TOutput = unknown> = Scorer<TTask, TOutput>['score'];

/** A method and not a property: a reward of a specific output can stand where any is accepted. */
interface Scorer<TTask, TOutput> {
  score(input: RewardInput<TTask, TOutput>): RewardResult | Promise<RewardResult>;
}

/** The result of a {@link RewardFunction}: a verdict, or the scores of its dimensions by name, `primary` among them. */
export type RewardResult = RewardVerdict | Readonly<Record<string, number | boolean>>;

/** A reward of parts. */
export interface RewardParts<TTask = unknown, TOutput = unknown> {
  /** By name. The reward is the sum of their scores, each times its weight. */
  readonly parts: Readonly<Record<string, RewardPart<TTask, TOutput>>>;
  /** The name of the primary part. @default the first */
  readonly primary?: string;
}
