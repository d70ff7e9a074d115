import type { JsonObject, JsonValue } from '@agentlightning/core';
import { promptTokenIdFields, stopFields } from '@agentlightning/core/internal';
import { numberOf, objectOf, objectsOf, textOf } from '../wire/json-access.ts';

/** Token counts of a response. */
export interface ResponseUsage {
  readonly inputTokens: number;
  /** The part of `inputTokens` that was cached. */
  readonly cachedTokens: number;
  /** The part of `inputTokens` that was written to the cache. */
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  /** The part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens: number;
}

/** Collects finish reason and usage from a whole body, or from consecutive chunks. */
export class ResponseEnd {
  #finishReason: string | null = null;
  #stop: string | null = null;
  #usage: ResponseUsage | null = null;
  #promptTokens: number | null = null;

  /** Adds a body or a chunk. */
  add(body: JsonObject): void {
    const choice = firstChoice(body);
    this.#finishReason = textOf(choice.finish_reason) ?? this.#finishReason;
    for (const name of stopFields) this.#stop = textOf(choice[name]) ?? this.#stop;
    this.#usage = usageOf(body.usage) ?? this.#usage;
    for (const name of promptTokenIdFields) {
      const promptTokenIds = body[name] ?? choice[name];
      if (Array.isArray(promptTokenIds)) this.#promptTokens ??= promptTokenIds.length;
    }
  }

  /** `stop`, `length`, `tool_calls`, `content_filter`; null before the end. */
  get finishReason(): string | null {
    return this.#finishReason;
  }

  /** The matched stop sequence; null for none, or if the engine does not return it. */
  get stopSequence(): string | null {
    return this.#stop;
  }

  /** Zeros if the engine returns none. */
  get usage(): ResponseUsage {
    const inputTokens = this.#promptTokens ?? 0;
    return this.#usage ?? { inputTokens, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  }
}

/** The first choice of a body or chunk; an empty object without one. */
export function firstChoice(body: JsonObject): JsonObject {
  return objectsOf(body.choices).find((choice) => (numberOf(choice.index) ?? 0) === 0) ?? {};
}

function usageOf(value: JsonValue | undefined): ResponseUsage | null {
  const usage = objectOf(value);
  const inputTokens = numberOf(usage.prompt_tokens);
  if (inputTokens === null) return null;
  const details = objectOf(usage.prompt_tokens_details);
  return {
    inputTokens,
    cachedTokens: numberOf(details.cached_tokens) ?? 0,
    cacheWriteTokens: numberOf(details.cache_write_tokens) ?? 0,
    outputTokens: numberOf(usage.completion_tokens) ?? 0,
    reasoningTokens: numberOf(objectOf(usage.completion_tokens_details).reasoning_tokens) ?? 0,
  };
}
