import type { JsonObject } from '@agentlightning/core';
import { numberOf, objectsOf, textOf } from '../http/json-access.ts';

/**
 * Assembles the chunks of a Completions stream into the body of the equivalent non-streamed response, without token ids and
 * log-probabilities.
 */
export class StreamedCompletion {
  readonly #choices: Map<number, JsonObject> = new Map();
  #head: JsonObject = {};

  /** Adds a chunk in the form that the agent receives. */
  add({ choices, ...head }: JsonObject): void {
    this.#head = { ...this.#head, ...head };
    for (const { token_ids: _, prompt_token_ids: __, logprobs: ___, ...choice } of objectsOf(choices)) {
      const index = numberOf(choice.index) ?? 0;
      const text = (textOf(this.#choices.get(index)?.text) ?? '') + (textOf(choice.text) ?? '');
      this.#choices.set(index, { ...this.#choices.get(index), ...choice, text });
    }
  }

  /** The body received so far. */
  toBody(): JsonObject {
    const choices = [...this.#choices].sort(([left], [right]) => left - right).map(([, choice]) => choice);
    return { ...this.#head, choices };
  }
}
