import type { JsonValue } from '../base/json.ts';
import { isObject, parseObject } from '../base/json-access.ts';
import type { Reward } from './reward.ts';
import { isRewardNumber } from './reward-range.ts';
import type { Attributes, Span } from './span.ts';
import { agentLightningAttributes, spanNames } from './span-attributes.ts';

/** The score of a part of the reward. */
export interface PartScore {
  /** Null where it is missing: `reason` says why. */
  readonly score: number | null;
  /** Why it has this score, or none. Null without a reason. */
  readonly reason: string | null;
}

/** What an agent returned, and how it was scored, by the parts of the reward. */
export interface ScoredOutput {
  /** The JSON form of the output; undefined where it was not recorded: larger than {@link maxOutputLength}, or not JSON. */
  readonly output: unknown;
  /** The score of each part of the reward, by name. */
  readonly scores: Readonly<Record<string, PartScore>>;
}

/** Calls of a model that judges, and their tokens. */
export interface JudgeUse {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Maximum length of the recorded JSON text of an output, in UTF-16 code units. */
export const maxOutputLength = 1_000_000;

/** Attributes of the span `agentlightning.annotation` that records an output, its scores, and what judges have used. */
export function scoredOutputAttributes({
  output,
  scores,
  judges = {},
}: ScoredOutput & {
  /** By model. */
  readonly judges?: Readonly<Record<string, JudgeUse>>;
}): Attributes {
  const text = jsonText(output);
  return {
    ...(text === null ? {} : { [agentLightningAttributes.output]: text }),
    [agentLightningAttributes.scores]: JSON.stringify(scores),
    ...(Object.keys(judges).length === 0 ? {} : { [agentLightningAttributes.judgeUsage]: JSON.stringify(judges) }),
  };
}

/** The output and scores that a span records; null for other spans. */
export function scoredOutputFromSpan({ name, attributes }: Pick<Span, 'name' | 'attributes'>): ScoredOutput | null {
  const recorded = name === spanNames.annotation ? attributes[agentLightningAttributes.scores] : undefined;
  const scores = typeof recorded === 'string' ? parseObject(recorded) : null;
  if (scores === null) return null;
  const text = attributes[agentLightningAttributes.output];
  return {
    output: typeof text === 'string' ? parsed(text) : undefined,
    scores: Object.fromEntries(Object.entries(scores).map(([part, score]) => [part, partScore(score)])),
  };
}

/** The last scored output among the spans of an attempt; null without one. */
export function findScoredOutput(
  spans: readonly Pick<Span, 'name' | 'attributes' | 'sequenceId'>[],
): ScoredOutput | null {
  const found = spans
    .toSorted((one, other) => one.sequenceId - other.sequenceId)
    .flatMap((span) => scoredOutputFromSpan(span) ?? []);
  const last = found.at(-1);
  if (last === undefined) return null;
  // Scores that were added later are recorded without the output.
  return { ...last, output: found.findLast(({ output }) => output !== undefined)?.output };
}

/** The dimensions of a scored reward, the primary one first; empty where the primary one is missing. */
export function rewardsOfScores(scores: ScoredOutput['scores'], primary: string): readonly Reward[] {
  const rewards = Object.entries(scores).flatMap(([name, { score }]) =>
    score === null ? [] : [{ name, value: score }],
  );
  const first = rewards.find(({ name }) => name === primary);
  return first === undefined ? [] : [first, ...rewards.filter((other) => other !== first)];
}

function partScore(value: JsonValue): PartScore {
  const { score, reason } = isObject(value) ? value : {};
  return { score: isRewardNumber(score) ? score : null, reason: typeof reason === 'string' ? reason : null };
}

function jsonText(output: unknown): string | null {
  try {
    const text = JSON.stringify(output) as string | undefined;
    return text === undefined || text.length > maxOutputLength ? null : text;
  } catch {
    // It has no JSON form, for example because it contains itself. The reward of the live output is not affected.
    return null;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
