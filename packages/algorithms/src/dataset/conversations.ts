import type { JsonValue, ModelCall } from '@agentlightning/core';
import { type ChatMessage, isSameMessage, requestMessages, responseMessage } from './chat-message.ts';

/** What an agent and its model said to each other, as long as each list of messages extends the one before. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  /** Places in `messages` of what the model said in these calls; other messages of an assistant were given. */
  readonly sampled: readonly number[];
  /** The tools that the last call had; null for none. */
  readonly tools: JsonValue | null;
}

/**
 * The conversations of an attempt: a call whose messages continue an earlier call's messages and response is the same
 * conversation, anything else a new one. Calls without recorded bodies, or with an incomplete response, are left out.
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
