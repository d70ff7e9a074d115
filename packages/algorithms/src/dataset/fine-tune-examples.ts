import type { JsonValue, ModelCall } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { type Selection, selectBest } from '../supervised/supervised.ts';
import { type ChatMessage, formatMessage, isSameMessage, requestMessages, responseMessage } from './chat-message.ts';
import { type DatasetOptions, rolloutCalls } from './rollout-calls.ts';

/** A line of a file for supervised fine-tuning, in OpenAI's chat format. */
export interface FineTuneExample {
  /** The conversation, which ends with the response to learn. */
  readonly messages: readonly ChatMessage[];
  /** The tools of the conversation, as in the request. */
  readonly tools?: JsonValue;
}

/** Selection of rollouts for examples. */
export interface FineTuneOptions extends DatasetOptions, Selection {}

/**
 * The conversations of good rollouts in the format of supervised fine-tuning files: rejection sampling for models that are
 * trained elsewhere. A conversation of several turns is one example. Assistant messages that the model did not generate,
 * such as few-shot examples, have `weight: 0` and are not trained on.
 *
 * @example
 * ```ts
 * const lines = fineTuneExamples(groups, { minReward: 0.9, keepBest: 1 }).map((example) => JSON.stringify(example));
 * ```
 */
export function fineTuneExamples(
  groups: readonly CollectedGroup[],
  options: FineTuneOptions = {},
): readonly FineTuneExample[] {
  return selectBest(rolloutCalls(groups, options), options).flatMap(({ calls }) => conversations(calls).map(example));
}

function example({ messages, sampled, tools }: Conversation): FineTuneExample {
  const said = new Set(sampled);
  const weighed = messages.map((message, place) =>
    formatMessage(message['role'] === 'assistant' && !said.has(place) ? { ...message, weight: 0 } : message),
  );
  return { messages: weighed, ...(tools === null ? {} : { tools }) };
}

/** A conversation of an agent with its model: successive calls, each of which extends the messages of the previous one. */
interface Conversation {
  readonly messages: readonly ChatMessage[];
  /** Indices in `messages` of the completions of these calls; other assistant messages were given in the prompt. */
  readonly sampled: readonly number[];
  /** The tools of the last call; null for none. */
  readonly tools: JsonValue | null;
}

/**
 * The conversations of an attempt. A call whose messages continue an earlier call's messages and response belongs to the
 * same conversation; other calls start a new one. Calls without recorded bodies, or with an incomplete response, are
 * excluded.
 *
 * @param calls - in order of sequence id
 */
function conversations(calls: readonly ModelCall[]): readonly Conversation[] {
  const open: Conversation[] = [];
  for (const call of calls) {
    const asked = requestMessages(call);
    const response = responseMessage(call);
    if (asked === null || response === null) continue;
    const place = open.findIndex(({ messages }) => goesOn(asked, messages));
    const earlier = open[place]?.sampled ?? [];
    const conversation = {
      messages: [...asked, response],
      sampled: [...earlier, asked.length],
      tools: call.request?.['tools'] ?? null,
    };
    if (place === -1) open.push(conversation);
    else open[place] = conversation;
  }
  return open;
}

function goesOn(asked: readonly ChatMessage[], messages: readonly ChatMessage[]): boolean {
  if (asked.length < messages.length) return false;
  return messages.every((message, index) => isSameMessage(message, asked[index] ?? {}));
}
