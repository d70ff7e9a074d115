import type { JsonObject } from '@agentlightning/core';
import { type ModelApi, StreamedAnthropicMessage, StreamedResponse } from '@agentlightning/core/adapter';
import { isJsonObject, StreamedMessage } from '@agentlightning/core/internal';

/** Puts the events of a stream together into the body that would have come without streaming. */
export interface StreamedAnswer {
  add(event: JsonObject): void;
  /** Whether an event said that the answer is whole. */
  readonly isWhole: boolean;
  /** The body so far. */
  toBody(): JsonObject;
}

/** What puts a stream of an API together. */
export function streamedAnswer(api: ModelApi): StreamedAnswer {
  if (api === 'responses') return new StreamedResponse();
  if (api === 'messages') return new StreamedAnthropicMessage();
  return api === 'completions' ? new StreamedCompletion() : new StreamedChat();
}

class StreamedChat implements StreamedAnswer {
  // The end mark of a chat stream is no event: see `[DONE]`.
  readonly isWhole: boolean = false;
  readonly #message: StreamedMessage = new StreamedMessage();

  add(event: JsonObject): void {
    this.#message.add(event);
  }

  toBody(): JsonObject {
    return this.#message.toBody();
  }
}

/** Legacy completions: every event goes on with the text of a choice. */
class StreamedCompletion implements StreamedAnswer {
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
