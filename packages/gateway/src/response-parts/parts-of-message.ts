import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { objectOf, objectsOf, textOf } from '../wire/json-access.ts';

/** The type of a response part, without its text. */
export type PartHead =
  | { readonly kind: 'reasoning' | 'text' | 'refusal' }
  | { readonly kind: 'call'; readonly id: string; readonly name: string };

/** A part of a response. The text of a tool call is its arguments, as the model wrote them. */
export type ResponsePart = PartHead & { readonly text: string };

/** An event of a streamed part: each part starts, is extended and ends before the next one starts. */
export type PartStep =
  | { readonly step: 'begin'; readonly head: PartHead }
  | { readonly step: 'extend'; readonly text: string }
  | { readonly step: 'end'; readonly part: ResponsePart };

/** Generates an id for a tool call without one. */
export type NewCallId = (index: number) => string;

/** The parts of a whole Chat Completions message: reasoning, text, refusal, then tool calls. Empty ones are omitted. */
export function partsOfMessage(message: JsonObject, newCallId: NewCallId): readonly ResponsePart[] {
  return [
    ...textPart('reasoning', reasoningOf(message)),
    ...textPart('text', contentText(message.content)),
    ...textPart('refusal', textOf(message.refusal)),
    ...objectsOf(message.tool_calls).map((call, index): ResponsePart => {
      const target = objectOf(call.function);
      const id = textOf(call.id) || newCallId(index);
      return { kind: 'call', id, name: textOf(target.name) ?? '', text: textOf(target.arguments) ?? '' };
    }),
  ];
}

/** The reasoning text of a message or delta. Engines use two names for the field. */
export function reasoningOf(message: JsonObject): string | null {
  return textOf(message.reasoning_content) ?? textOf(message.reasoning);
}

function textPart(kind: 'reasoning' | 'text' | 'refusal', text: string | null): readonly ResponsePart[] {
  return text === null || text === '' ? [] : [{ kind, text }];
}

function contentText(content: JsonValue | undefined): string | null {
  if (!Array.isArray(content)) return textOf(content);
  return content.map((part: JsonValue) => (isJsonObject(part) ? (textOf(part.text) ?? '') : '')).join('');
}
