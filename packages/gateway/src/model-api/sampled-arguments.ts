import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@agentlightning/core';
import { parseJsonObject } from '@agentlightning/core/internal';
import type { EndedCall, StartedCall } from '../capture/call-recorder.ts';
import { isJsonList, objectOf, objectsOf, textOf } from '../wire/json-access.ts';

/** The attempt of a conversation. */
type AttemptIds = Pick<StartedCall['attempt'], 'rolloutId' | 'attemptId'>;

interface CompletedCall {
  readonly attempt: Pick<StartedCall['attempt'], 'rolloutId' | 'attemptId' | 'isUnattributed'>;
}

/** In the record of a call whose arguments were restored. */
export const restoredChange = 'messages: arguments of earlier tool calls as they were sampled';

/** Approximate limit of remembered characters; the oldest arguments are forgotten first. */
const maxLength = 16 * 1024 * 1024;

/**
 * The arguments of each attempt's tool calls as they were sampled. Clients parse arguments and write them in another form:
 * with other spaces, escapes and numbers. The model would read other tokens than it sampled.
 */
export class SampledArguments {
  readonly #texts: Map<string, string> = new Map();
  readonly #maxLength: number;
  #length = 0;

  /** @param limit - approximate limit of remembered characters */
  constructor(limit: number = maxLength) {
    this.#maxLength = limit;
  }

  /** Remembers the tool calls of a response. */
  remember({ attempt }: CompletedCall, { response }: Pick<EndedCall, 'response'>): void {
    if (attempt.isUnattributed) return;
    for (const { message } of objectsOf(response?.choices)) {
      for (const call of objectsOf(objectOf(message).tool_calls)) this.#rememberCall(attempt, call);
    }
  }

  /** The request with the arguments that were sampled, where its own have the same value; the request itself without such. */
  restore(attempt: AttemptIds | null, request: JsonObject): JsonObject {
    const { messages } = request;
    if (attempt === null || this.#texts.size === 0 || !isJsonList(messages)) return request;
    const restored = messages.map((message) => this.#restoreMessage(attempt, message));
    return restored.every((message, index) => message === messages[index])
      ? request
      : { ...request, messages: restored };
  }

  #rememberCall(attempt: AttemptIds, call: JsonObject): void {
    const text = textOf(objectOf(call.function).arguments);
    if (text === null) return;
    for (const key of keysOf(attempt, call, text)) this.#add(key, text);
  }

  #add(key: string, text: string): void {
    this.#length += sizeOf(text) - (this.#texts.has(key) ? sizeOf(this.#texts.get(key) ?? '') : 0);
    this.#texts.delete(key);
    this.#texts.set(key, text);
    for (const [name, oldest] of this.#texts) {
      if (this.#length <= this.#maxLength) break;
      this.#texts.delete(name);
      this.#length -= sizeOf(oldest);
    }
  }

  #restoreMessage(attempt: AttemptIds, message: JsonValue): JsonValue {
    const { role, tool_calls: calls, ...rest } = objectOf(message);
    if (role !== 'assistant' || !isJsonList(calls)) return message;
    const restored = calls.map((call) => this.#restoreCall(attempt, call));
    return restored.every((call, index) => call === calls[index]) ? message : { role, ...rest, tool_calls: restored };
  }

  #restoreCall(attempt: AttemptIds, given: JsonValue): JsonValue {
    const call = objectOf(given);
    const target = objectOf(call.function);
    const text = textOf(target.arguments);
    if (text === null) return given;
    const key = keysOf(attempt, call, text).find((known) => this.#texts.has(known));
    const sampled = key === undefined ? undefined : this.#texts.get(key);
    if (sampled === undefined || sampled === text) return given;
    return { ...call, function: { ...target, arguments: sampled } };
  }
}

/**
 * The names of a call, the most exact one first: by its id and value, by its value, since engines may leave out ids and
 * clients change them, and by its id and value in JavaScript, where long integers are rounded.
 */
function keysOf({ rolloutId, attemptId }: AttemptIds, { id }: JsonObject, text: string): readonly string[] {
  const exact = normalized(text, parseJsonObject);
  const rounded = normalized(text, (json) => JSON.parse(json));
  const names = new Set(
    [
      [id ?? '', exact],
      ['', exact],
      [id ?? '', rounded],
    ].map((name) => JSON.stringify(name)),
  );
  return [...names].map((name) => createHash('sha256').update(`${rolloutId}/${attemptId}/${name}`).digest('base64'));
}

/** Arguments as JavaScript writes them; text that is not JSON unchanged. */
function normalized(text: string, parse: (json: string) => JsonValue): string {
  if (text.trim() === '') return '{}';
  try {
    return JSON.stringify(parse(text) ?? text);
  } catch {
    return text;
  }
}

/** With the key. */
function sizeOf(text: string): number {
  return text.length + 44;
}
