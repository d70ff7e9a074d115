import type { JsonObject } from '@agentlightning/core';
import type { ModelApi } from '@agentlightning/core/adapter';
import {
  isJsonObject,
  StreamedAnthropicMessage,
  StreamedMessage,
  StreamedResponse,
} from '@agentlightning/core/internal';

/** Assembles the events of a stream into the equivalent non-streaming body. */
export interface StreamAssembler {
  add(event: JsonObject): void;
  /** Whether an event has marked the response as complete. */
  readonly isWhole: boolean;
  /** The body so far. */
  toBody(): JsonObject;
}

/** Returns the assembler for an API. */
export function assemblerFor(api: ModelApi): StreamAssembler {
  if (api === 'responses') return new StreamedResponse();
  if (api === 'messages') return new StreamedAnthropicMessage();
  return api === 'completions' ? new CompletionAssembler() : new ChatAssembler();
}

class ChatAssembler implements StreamAssembler {
  // A chat stream ends with the marker `[DONE]`, which is not an event.
  readonly isWhole: boolean = false;
  readonly #message: StreamedMessage = new StreamedMessage();

  add(event: JsonObject): void {
    this.#message.add(event);
  }

  toBody(): JsonObject {
    return this.#message.toBody();
  }
}

/** Legacy completions: every event appends to the text of a choice. */
class CompletionAssembler implements StreamAssembler {
  readonly isWhole: boolean = false;
  readonly #choices: Map<number, JsonObject> = new Map();
  #head: JsonObject = {};

  add(event: JsonObject): void {
    const { choices, ...head } = event;
    this.#head = { ...this.#head, ...head };
    for (const choice of Array.isArray(choices) ? choices.filter(isJsonObject) : []) {
      const index = typeof choice.index === 'number' ? choice.index : 0;
      const before = this.#choices.get(index);
      this.#choices.set(index, { ...before, ...choice, text: `${before?.text ?? ''}${choice.text ?? ''}` });
    }
  }

  toBody(): JsonObject {
    return { ...this.#head, choices: [...this.#choices].sort(([a], [b]) => a - b).map(([, choice]) => choice) };
  }
}
