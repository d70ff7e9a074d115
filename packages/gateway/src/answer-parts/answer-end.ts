import type { JsonObject, JsonValue } from '@agentlightning/core';
import { numberOf, objectOf, objectsOf, textOf } from '../http/json-access.ts';

/** The token counts of an answer. */
export interface AnswerUsage {
  readonly inputTokens: number;
  /** Of `inputTokens`, those that the engine had in its cache. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Of `outputTokens`, those of thoughts. */
  readonly reasoningTokens: number;
}

/** How an answer ended, in the words of Chat Completions; it takes a whole body, or chunks one after another. */
export class AnswerEnd {
  #finishReason: string | null = null;
  #stop: string | null = null;
  #usage: AnswerUsage | null = null;
  #promptTokens: number | null = null;

  /** Takes a body or a chunk. */
  add(body: JsonObject): void {
    const choice = firstChoice(body);
    this.#finishReason = textOf(choice.finish_reason) ?? this.#finishReason;
    // Where vLLM and SGLang say which stop sequence it was.
    this.#stop = textOf(choice.stop_reason) ?? textOf(choice.matched_stop) ?? this.#stop;
    this.#usage = usageOf(body.usage) ?? this.#usage;
    const promptTokenIds = body.prompt_token_ids ?? choice.prompt_token_ids;
    if (Array.isArray(promptTokenIds)) this.#promptTokens ??= promptTokenIds.length;
  }

  /** `stop`, `length`, `tool_calls`, `content_filter`; null while it has not ended. */
  get finishReason(): string | null {
    return this.#finishReason;
  }

  /** The stop sequence that ended it; null when it was none, or the engine does not tell. */
  get stopSequence(): string | null {
    return this.#stop;
  }

  /** Zeros where the engine does not tell. */
  get usage(): AnswerUsage {
    const inputTokens = this.#promptTokens ?? 0;
    return this.#usage ?? { inputTokens, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  }
}

/** The first choice of a body or chunk; an empty object when there is none. */
export function firstChoice(body: JsonObject): JsonObject {
  return objectsOf(body.choices).find((choice) => (numberOf(choice.index) ?? 0) === 0) ?? {};
}

function usageOf(value: JsonValue | undefined): AnswerUsage | null {
  const usage = objectOf(value);
  const inputTokens = numberOf(usage.prompt_tokens);
  if (inputTokens === null) return null;
  return {
    inputTokens,
    cachedTokens: numberOf(objectOf(usage.prompt_tokens_details).cached_tokens) ?? 0,
    outputTokens: numberOf(usage.completion_tokens) ?? 0,
    reasoningTokens: numberOf(objectOf(usage.completion_tokens_details).reasoning_tokens) ?? 0,
  };
}
