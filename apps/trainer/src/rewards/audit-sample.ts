import type { RewardChoice } from '@agentlightning/algorithms';
import { finalReward } from '@agentlightning/algorithms/internal';
import type { JsonValue } from '@agentlightning/core';
import { findReview, findScoredOutput, isJsonObject } from '@agentlightning/core/internal';
import { findFinalReward, type RolloutLabel } from '@agentlightning/core/spans';
import { lastText } from '../evaluation/constant-response.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { trainableCalls } from '../rollouts/call-metrics.ts';
import { storedOutput } from './score-outputs.ts';

/** What an audit measures of a rollout. */
export interface AuditSample {
  readonly finished: FinishedRollout;
  readonly rolloutId: string;
  readonly groupId: string;
  readonly step: number;
  /** The index among the siblings. */
  readonly position: number;
  readonly reward: number | null;
  readonly parts: Readonly<Record<string, number>>;
  /** Response tokens; characters where none were recorded. */
  readonly length: number;
  readonly isTruncated: boolean;
  /** Whether the agent failed, or its output has no reward. */
  readonly isFailed: boolean;
  /** The share of sequences of three words that occur before in the text; 0 for short texts. */
  readonly repetition: number;
  /** Whether the text repeats most of the task and little else, from 0 to 1; 0 for short tasks. */
  readonly echo: number;
  /** The task and the text in a form that can be compared. */
  readonly task: string;
  readonly text: string;
  readonly label: RolloutLabel | null;
  readonly preferredOver: readonly string[];
}

/** Characters of a text that are analysed. */
const maxCharacters = 8000;

/** Words below which neither repetition nor echo is measured. */
const minWords = 8;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Measures a finished rollout. */
export function auditSample(finished: FinishedRollout, groupId: string, choice: RewardChoice): AuditSample {
  const { rollout, spans, failure } = finished;
  const { rolloutId, metadata, input } = rollout;
  const reward = failure === null ? finalReward(spans, choice) : null;
  const text = textOf(finished);
  const words = wordsOf(text);
  const choices = trainableCalls([finished]).flatMap((call) => call.choices);
  const tokens = choices.reduce((sum, { responseTokenIds }) => sum + responseTokenIds.length, 0);
  return {
    finished,
    rolloutId,
    groupId,
    step: numberOf(metadata?.['step']),
    position: numberOf(metadata?.['sample']),
    reward,
    parts: failure === null ? partsOf(finished) : {},
    length: tokens === 0 ? text.length : tokens,
    isTruncated: choices.some(({ finishReason }) => finishReason === 'length'),
    isFailed: failure === 'agent' || (failure === null && reward === null),
    repetition: repetitionOf(words),
    echo: Math.max(0, ...leaves(input).map((leaf) => echoOf(words, wordsOf(leaf)))),
    task: JSON.stringify(input),
    text: words.join(' '),
    ...(({ label, preferredOver }) => ({ label, preferredOver }))(findReview(spans)),
  };
}

/** What the policy wrote last; without recorded model calls, the text of the output. */
function textOf({ spans }: FinishedRollout): string {
  const text = lastText(spans);
  return (text === '' ? leaves(storedOutput(spans).output).join(' ') : text).slice(0, maxCharacters);
}

/** The final dimensions of the reward, and recorded scores that are no dimension because the primary part is missing. */
function partsOf({ spans }: FinishedRollout): AuditSample['parts'] {
  const scores = Object.entries(findScoredOutput(spans)?.scores ?? {}).flatMap(([name, { score }]) =>
    score === null ? [] : [[name, score] as const],
  );
  const dimensions = (findFinalReward(spans)?.rewards ?? []).map(({ name, value }) => [name, value] as const);
  return Object.fromEntries([...scores, ...dimensions]);
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

/** The texts in a value. */
function leaves(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap((item) => leaves(item));
  return isJsonObject(value) ? Object.values(value).flatMap((item) => leaves(item)) : [];
}

function wordsOf(text: string): readonly string[] {
  const segments = segmenter.segment(text.slice(0, maxCharacters).toLowerCase());
  return [...segments].flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
}

function triples(words: readonly string[]): readonly string[] {
  return words.slice(2).map((word, index) => `${words[index]} ${words[index + 1]} ${word}`);
}

function repetitionOf(words: readonly string[]): number {
  if (words.length < minWords) return 0;
  const all = triples(words);
  return 1 - new Set(all).size / all.length;
}

/** The smaller of two shares: of the task in the text, and of the text in the task. */
function echoOf(text: readonly string[], task: readonly string[]): number {
  if (task.length < minWords || text.length < minWords) return 0;
  const [given, asked] = [new Set(triples(text)), new Set(triples(task))];
  const common = [...given].filter((triple) => asked.has(triple)).length;
  return common / Math.max(given.size, asked.size);
}
