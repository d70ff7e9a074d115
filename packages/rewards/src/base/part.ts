import { AgentLightningError } from '@agentlightning/core';
import type { ReasonedScore, RewardInput, RewardMeter } from '@agentlightning/core/algorithm';

/** A finished rollout for a part of the reward. In tests, `task` and `output` suffice. */
export type ScoredOutput<TTask = unknown, TOutput = unknown> = Pick<RewardInput<TTask, TOutput>, 'task' | 'output'> &
  Partial<RewardInput<TTask, TOutput>>;

/** The settings of every part. */
export interface PartOptions {
  /** Its weight in the reward; 0 records it only. @default 1 */
  readonly weight?: number;
  /** Lowest and highest possible score. A score outside of it leaves the part missing. @default 0 to 1 */
  readonly range?: readonly [low: number, high: number];
}

/** The settings of a part that reads a value of the output. */
export interface OutputOptions<TOutput = unknown> extends PartOptions {
  /** Selects the scored value, such as a field. @default the output; in an object with `text` only, that text */
  readonly output?: (output: TOutput) => unknown;
}

/** A part that scores one output. It is a `RewardPart`, and can be called in a test. */
export interface ScoredPart<TTask = unknown, TOutput = unknown> extends PartSettings {
  /** The score of an output, with a reason; it rejects with a named error where the output cannot be scored. */
  score(input: ScoredOutput<TTask, TOutput>): Promise<ReasonedScore>;
}

/** What a configuration reads of a part, beside its scores. */
export interface PartSettings {
  /** Its weight in the reward; 0 records it only. @default 1 */
  readonly weight?: number;
  /** Lowest and highest possible score. @default 0 to 1 */
  readonly range?: readonly [low: number, high: number];
  /** The prompt of its judge. */
  readonly prompt?: string;
  /** What its judge has used. */
  readonly meter?: RewardMeter;
}

/** A part that scores the outputs of a group together. */
export interface GroupPart<TTask = unknown, TOutput = unknown> extends PartSettings {
  /** The scores of the siblings, in their order. */
  scoreGroup(siblings: readonly ScoredOutput<TTask, TOutput>[]): Promise<readonly ReasonedScore[]>;
}

/**
 * Weight and range of a part.
 *
 * @throws AgentLightningError CONFIG for a weight that is not a finite number, or a range that is not [low, high]
 */
export function partSettings({ weight, range = [0, 1] }: PartOptions): Pick<ScoredPart, 'weight' | 'range'> {
  if (weight !== undefined && !Number.isFinite(weight)) throw invalidOption('weight', weight, 'a finite number');
  const [low, high] = range;
  if (!Number.isFinite(low) || !Number.isFinite(high) || low >= high) {
    throw invalidOption('range', range, '[low, high] with low below high');
  }
  return { range, ...(weight === undefined ? {} : { weight }) };
}

/** The error of an option of a part. */
export function invalidOption(name: string, value: unknown, wanted: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `Option \`${name}\` of a part of the reward is ${JSON.stringify(value) ?? String(value)}`,
    remedy: `Pass ${wanted}.`,
  });
}

/** The verdict of a verifier: 1 or 0, with the reason. */
export function verdict(isRight: boolean, reason: string): ReasonedScore {
  return { score: isRight ? 1 : 0, reason };
}

/** A value in a reason: JSON of at most 200 characters. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** The scored value: what the selector returns. */
export function selectOutput(output: unknown, select: ((output: never) => unknown) | undefined): unknown {
  if (select !== undefined) return (select as (output: unknown) => unknown)(output);
  const isTextOnly = typeof output === 'object' && output !== null && 'text' in output;
  return isTextOnly && Object.keys(output).length === 1 ? output.text : output;
}

/** The text of a value: strings unchanged, other values as JSON; empty without one. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : (JSON.stringify(value) ?? String(value));
}
