import type { JsonObject, JsonValue, Span } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { findScoredOutput, isJsonObject } from '@agentlightning/core/internal';
import { agentLightningAttributes, spanNames } from '@agentlightning/core/spans';
import { type ChatMessage, responseMessage } from '../dataset/chat-message.ts';
import { capturedCalls } from '../transition/captured-calls.ts';
import { toolCallOf } from '../transition/intermediate-rewards.ts';

/**
 * Source of feedback on a rollout: the `reasons` of its scores; the `messages` of `emitMessage`; the `errors` of its tool calls; the
 * responses of another rollout of the task that solved it (`siblings`); the `demonstration` field of the task.
 */
export type FeedbackSource = (typeof feedbackSources)[number];

/** All sources, in the order in which their texts follow each other. */
export const feedbackSources: readonly ['reasons', 'messages', 'errors', 'siblings', 'demonstration'] = [
  'reasons',
  'messages',
  'errors',
  'siblings',
  'demonstration',
];

/** The feedback on a rollout. */
export interface Feedback {
  readonly text: string;
  /** The sources that have a text; at least one. */
  readonly sources: readonly FeedbackSource[];
}

/** A rollout and the solution of another rollout of its task. */
export interface FeedbackInput {
  readonly collected: CollectedRollout;
  /** A rollout of the task that solved it; null without one. */
  readonly solution: CollectedRollout | null;
}

/** The feedback of the given sources on a rollout; null where none of them has a text. Deterministic. */
export function feedbackOn(input: FeedbackInput, sources: readonly FeedbackSource[]): Feedback | null {
  const found = feedbackSources
    .filter((source) => sources.includes(source))
    .map((source) => ({ source, text: readers[source](input).trim() }))
    .filter(({ text }) => text !== '');
  if (found.length === 0) return null;
  const sections = Map.groupBy(found, ({ source }) => headings[source]);
  return {
    text: [...sections].map(([heading, parts]) => [heading, ...parts.map(({ text }) => text)].join('\n')).join('\n\n'),
    sources: found.map(({ source }) => source),
  };
}

const onAttempt = 'Feedback on an earlier attempt:';
const onSolution = 'A correct response:';

const headings: Readonly<Record<FeedbackSource, string>> = {
  reasons: onAttempt,
  messages: onAttempt,
  errors: onAttempt,
  siblings: onSolution,
  demonstration: onSolution,
};

const readers: Readonly<Record<FeedbackSource, (input: FeedbackInput) => string>> = {
  reasons: ({ collected }) =>
    Object.values(findScoredOutput(ownSpans(collected))?.scores ?? {})
      .flatMap(({ reason }) => reason ?? [])
      .join('\n'),
  messages: ({ collected }) =>
    ownSpans(collected)
      .flatMap(({ name, attributes }) => {
        const body = name === spanNames.message ? attributes[agentLightningAttributes.messageBody] : undefined;
        return typeof body === 'string' ? [body] : [];
      })
      .join('\n'),
  errors: ({ collected }) => ownSpans(collected).flatMap(toolErrors).join('\n'),
  siblings: ({ solution }) => (solution === null ? '' : responsesOf(solution)),
  demonstration: ({ collected }) => demonstrationOf(collected.rollout.input),
};

function ownSpans({ spans, attemptId }: CollectedRollout): readonly Span[] {
  return spans
    .filter((span) => span.attemptId === attemptId)
    .toSorted((one, other) => one.sequenceId - other.sequenceId);
}

function toolErrors(span: Span): readonly string[] {
  return toolCallOf(span)
    .filter(({ isError }) => isError)
    .map(({ name, result }) => `${name}: ${result ?? span.status.message ?? 'the call failed'}`);
}

/** What the model said in a rollout, one line for each text and tool call. */
function responsesOf(collected: CollectedRollout): string {
  return capturedCalls(ownSpans(collected))
    .calls.map(responseMessage)
    .filter((message) => message !== null)
    .flatMap(messageLines)
    .join('\n');
}

function messageLines({ content, tool_calls: toolCalls }: ChatMessage): readonly string[] {
  const calls = Array.isArray(toolCalls) ? toolCalls.filter(isJsonObject) : [];
  return [...(typeof content === 'string' && content !== '' ? [content] : []), ...calls.flatMap(callLine)];
}

function callLine({ function: called }: JsonObject): readonly string[] {
  return isJsonObject(called) ? [`${String(called['name'])}(${String(called['arguments'])})`] : [];
}

/** The text of the field `demonstration` of a task; messages as their texts and tool calls. */
function demonstrationOf(input: JsonValue): string {
  const given = isJsonObject(input) ? input['demonstration'] : undefined;
  if (given === undefined || given === null) return '';
  if (typeof given === 'string') return given;
  const messages = isList(given) ? given.filter(isJsonObject) : [];
  return messages.length > 0 ? messages.flatMap(messageLines).join('\n') : JSON.stringify(given);
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
