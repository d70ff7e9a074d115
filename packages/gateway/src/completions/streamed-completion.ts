import type { JsonObject } from '@agentlightning/core';
import { numberOf, objectsOf, textOf } from '../wire/json-access.ts';

/**
 * Assembles the chunks of a Completions stream into the body of the equivalent non-streamed response, without the data of
 * tokens.
 */
export class StreamedCompletion {
  readonly #choices: Map<number, JsonObject> = new Map();
  #head: JsonObject = {};

  /** Adds a chunk in the form that the agent receives. */
  add({ choices, ...head }: JsonObject): void {
    this.#head = { ...this.#head, ...head };
    for (const tokenChoice of objectsOf(choices)) {
      const {
        token_ids: _ids,
        prompt_token_ids: _prompt,
        logprobs: _logprobs,
        policy_versions: _versions,
        ...choice
      } = tokenChoice;
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
