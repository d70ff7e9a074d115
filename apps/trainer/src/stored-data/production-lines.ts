import { createHash } from 'node:crypto';
import type { FineTuneExample } from '@agentlightning/algorithms';
import { fineTuneExamples, preferenceExamples } from '@agentlightning/algorithms/internal';
import type { JsonObject, JsonValue, Span, Store } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { feedbackFromSpan, findReview, isJsonObject, uncapturedModelCall } from '@agentlightning/core/internal';
import { findFeedback, findFinalReward, joinModelCalls, readProductionMetadata } from '@agentlightning/core/spans';
import { readFinishedRollouts } from '../results/finished-rollout.ts';
import { goodReward, withReward } from './annotated-groups.ts';
import type { DatasetFormat, DatasetPart } from './named-dataset.ts';

/** The examples of a data set from the traces of a deployment. */
export interface ProductionChoice {
  readonly deployment: string;
  /** Start of the traces, in Unix milliseconds; null for all. */
  readonly fromMs: number | null;
  /** Traces that ended at or after this time, and feedback since then, do not count. In Unix milliseconds. */
  readonly untilMs: number;
  readonly format: DatasetFormat;
  /** The service or library that reads the lines; tasks have one form. */
  readonly style: 'openai' | 'trl';
  /** Minimum score; null takes 0.5 for `chat` and none for `tasks`. */
  readonly minScore: number | null;
  readonly minGap: number | null;
  /** Share of the users or conversations whose lines are for the test. */
  readonly testShare: number;
  readonly splitBy: 'user' | 'conversation';
}

/** One line, with the part that it belongs to. */
export interface ProductionLine {
  readonly part: DatasetPart;
  readonly line: JsonObject;
}

/** Counts of a data set from traces. */
export interface ProductionCounts {
  rollouts: number;
  lines: number;
  duplicates: number;
}

/** A trace with its judgement. */
interface JudgedTrace {
  readonly collected: CollectedRollout;
  readonly part: DatasetPart;
  readonly score: number | null;
  readonly correction: string | null;
}

/** Traces that are read at a time. */
const batchSize = 64;
const defaultMinScore = 0.5;

/**
 * The lines of a data set from the traces of a deployment. A prompt is in one part only, and a line in it once: the test
 * does not measure what was trained on.
 */
export async function* productionLines(
  store: Store,
  choice: ProductionChoice,
  counts: ProductionCounts,
): AsyncGenerator<ProductionLine> {
  const parts = new Map<string, DatasetPart>();
  const written = new Set<string>();
  for await (const { prompt, part, line } of examples(store, choice, counts)) {
    const digest = digestOf(prompt);
    const whole = digestOf(line);
    if ((parts.get(digest) ?? part) !== part || written.has(whole)) {
      counts.duplicates += 1;
      continue;
    }
    parts.set(digest, part);
    written.add(whole);
    counts.lines += 1;
    yield { part, line };
  }
}

interface Example extends ProductionLine {
  readonly prompt: JsonValue;
}

async function* examples(store: Store, choice: ProductionChoice, counts: ProductionCounts): AsyncGenerator<Example> {
  const groups = new Map<string, JudgedTrace[]>();
  for await (const trace of judgedTraces(store, choice)) {
    counts.rollouts += 1;
    if (choice.format === 'tasks') yield* taskExample(trace, choice);
    else if (choice.format === 'chat') yield* chatExamples(trace, choice);
    else {
      yield* correctionPairs(trace, choice);
      if (trace.score === null) continue;
      const key = digestOf([trace.part, trace.collected.rollout.input]);
      groups.set(key, [...(groups.get(key) ?? []), trace]);
    }
  }
  for (const [groupId, traces] of groups) yield* groupPairs(groupId, traces, choice);
}

async function* judgedTraces(store: Store, choice: ProductionChoice): AsyncGenerator<JudgedTrace> {
  const { items } = await store.queryRollouts({
    runId: choice.deployment,
    modeIn: ['production'],
    statusIn: ['succeeded'],
    endTimeBeforeMs: choice.untilMs,
    ...(choice.fromMs === null ? {} : { endTimeFromMs: choice.fromMs }),
  });
  for (let start = 0; start < items.length; start += batchSize) {
    for (const finished of await readFinishedRollouts(store, items.slice(start, start + batchSize))) {
      yield judgedTrace(finished, choice);
    }
  }
}

function judgedTrace({ rollout, attemptId, spans: all }: CollectedRollout, choice: ProductionChoice): JudgedTrace {
  const spans = all.filter((span) => feedbackFromSpan(span) === null || (span.startTimeMs ?? 0) < choice.untilMs);
  const { label } = findReview(spans);
  // The review of the team counts more than the feedback of users.
  const reviewed = label === null ? null : label === 'good' ? goodReward : 0;
  const score = reviewed ?? findFinalReward(spans)?.rewards[0]?.value ?? null;
  const corrections = findFeedback(spans).flatMap(({ correction }) => correction ?? []);
  const { user, conversation } = readProductionMetadata(rollout.metadata);
  const own = choice.splitBy === 'user' ? (user ?? conversation) : (conversation ?? user);
  return {
    collected: { rollout, attemptId, spans: withConversations(spans) },
    part: shareOf(own ?? rollout.rolloutId) < choice.testShare ? 'test' : 'train',
    score,
    // An empty one removes an earlier one.
    correction: corrections.at(-1) || null,
  };
}

/** The spans, with steps of adapters as model calls where nothing else recorded the call. */
function withConversations(spans: readonly Span[]): readonly Span[] {
  const converted = new Map(
    joinModelCalls(spans).flatMap(({ captured, step }): [string, Span][] => {
      const call = captured === null && step !== null ? uncapturedModelCall(step) : null;
      return call === null ? [] : [[call.spanId, call]];
    }),
  );
  return spans.map((span) => converted.get(span.spanId) ?? span);
}

/** A stable number from 0 to 1: the same user is in the same part of every version. */
function shareOf(key: string): number {
  return createHash('sha256').update(key).digest().readUInt32BE(0) / 2 ** 32;
}

function* taskExample({ collected, part, score }: JudgedTrace, { minScore }: ProductionChoice): Generator<Example> {
  const { input } = collected.rollout;
  if (input === null || (minScore !== null && (score ?? Number.NEGATIVE_INFINITY) < minScore)) return;
  // A task is an object.
  const line = isJsonObject(input) ? input : { input };
  yield { prompt: line, part, line };
}

function* chatExamples(trace: JudgedTrace, choice: ProductionChoice): Generator<Example> {
  const { part, score, correction } = trace;
  const isGood = score !== null && score >= (choice.minScore ?? defaultMinScore);
  if (correction === null && !isGood) return;
  for (const example of correction === null ? conversationsOf(trace) : corrected(trace, correction)) {
    yield { prompt: [...example.messages.slice(0, -1)], part, line: chatLine(example, choice.style) };
  }
}

/** TRL trains on all assistant messages of a conversation, and its lines have no weights. */
function chatLine({ messages, tools }: FineTuneExample, style: ProductionChoice['style']): JsonObject {
  const plain = style === 'trl' ? messages.map(({ weight: _, ...message }) => message as JsonObject) : messages;
  return { messages: [...plain], ...(tools === undefined ? {} : { tools }) };
}

function conversationsOf({ collected }: JudgedTrace): readonly FineTuneExample[] {
  return fineTuneExamples([{ groupId: collected.rollout.rolloutId, rollouts: [collected] }]);
}

/** The last conversation, which ends with the corrected response. */
function corrected(trace: JudgedTrace, correction: string): readonly FineTuneExample[] {
  const last = conversationsOf(trace).at(-1);
  if (last === undefined) return [];
  const messages = last.messages.slice(0, -1).map(
    // Only the correction is the target.
    (message): JsonObject => (message['role'] === 'assistant' ? { ...message, weight: 0 } : message),
  );
  return [{ ...last, messages: [...messages, { role: 'assistant', content: correction }] }];
}

function* correctionPairs(trace: JudgedTrace, { style }: ProductionChoice): Generator<Example> {
  const last = trace.correction === null ? undefined : conversationsOf(trace).at(-1);
  const response = last?.messages.at(-1);
  if (last === undefined || response === undefined || trace.correction === null) return;
  const messages = last.messages.slice(0, -1).map(({ weight: _, ...message }) => message as JsonObject);
  const better: JsonObject = { role: 'assistant', content: trace.correction };
  const tools = last.tools === undefined ? {} : { tools: last.tools };
  const { part } = trace;
  yield { prompt: messages, part, line: pairLine({ messages, better: [better], worse: [response], tools }, style) };
}

/** Pairs of the best and the worst trace of the same input. */
function* groupPairs(
  groupId: string,
  traces: readonly JudgedTrace[],
  { style, minGap }: ProductionChoice,
): Generator<Example> {
  const [first] = traces;
  if (first === undefined || traces.length < 2) return;
  const rollouts = traces.map(({ collected, score }) => withReward(collected, score ?? 0));
  const { examples: pairs } = preferenceExamples([{ groupId, rollouts }], minGap === null ? {} : { minGap });
  for (const { input, preferred_output: better, non_preferred_output: worse } of pairs) {
    const { messages, ...tools } = input;
    const line = pairLine({ messages, better, worse, tools }, style);
    yield { prompt: [...messages], part: first.part, line };
  }
}

interface Pair {
  readonly messages: readonly JsonObject[];
  readonly better: readonly JsonObject[];
  readonly worse: readonly JsonObject[];
  readonly tools: { readonly tools?: JsonValue };
}

function pairLine({ messages, better, worse, tools }: Pair, style: ProductionChoice['style']): JsonObject {
  if (style === 'trl') return { prompt: [...messages], chosen: [...better], rejected: [...worse], ...tools };
  return {
    input: { messages: [...messages], ...tools },
    preferred_output: [...better],
    non_preferred_output: [...worse],
  };
}

function digestOf(value: JsonValue): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}
