import type { JsonValue, ModelCall } from '@agentlightning/core';
import { type ChatMessage, isSameMessage, requestMessages, responseMessage } from './chat-message.ts';

/** A conversation of an agent with its model: successive calls, each of which extends the messages of the previous one. */
export interface Conversation {
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
export function conversations(calls: readonly ModelCall[]): readonly Conversation[] {
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
