import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { objectOf, objectsOf, textOf } from '../http/json-access.ts';
import type { AnswerPart } from './answer-part.ts';

/** Gives a call an id that the engine left without one. */
export type NewCallId = (index: number) => string;

/** The pieces of a whole Chat Completions message: reasoning, text, refusal, then its calls. Empty ones are left out. */
export function partsOfMessage(message: JsonObject, newCallId: NewCallId): readonly AnswerPart[] {
  return [
    ...textPart('reasoning', reasoningOf(message)),
    ...textPart('text', contentText(message.content)),
    ...textPart('refusal', textOf(message.refusal)),
    ...objectsOf(message.tool_calls).map((call, index): AnswerPart => {
      const target = objectOf(call.function);
      const id = textOf(call.id) || newCallId(index);
      return { kind: 'call', id, name: textOf(target.name) ?? '', text: textOf(target.arguments) ?? '' };
    }),
  ];
}

/** What a message, or its delta, says of the model's thoughts. Engines have two names for it. */
export function reasoningOf(message: JsonObject): string | null {
  return textOf(message.reasoning_content) ?? textOf(message.reasoning);
}

function textPart(kind: 'reasoning' | 'text' | 'refusal', text: string | null): readonly AnswerPart[] {
  return text === null || text === '' ? [] : [{ kind, text }];
}

function contentText(content: JsonValue | undefined): string | null {
  if (!Array.isArray(content)) return textOf(content);
  return content.map((part: JsonValue) => (isJsonObject(part) ? (textOf(part.text) ?? '') : '')).join('');
}
