import { isJsonObject, type JsonObject, type JsonValue } from '@agentlightning/core';

/** Events of the Responses API after which nothing follows. */
const lastEvents = ['response.completed', 'response.incomplete', 'response.failed'];

/** Puts the events of a stream of the Responses API together into the body, as far as it came. */
export function readResponseItems(events: readonly JsonObject[]): {
  readonly body: JsonObject;
  readonly isWhole: boolean;
} {
  return new StreamedResponseItems(events).read();
}

class StreamedResponseItems {
  readonly #items: Map<number, Record<string, JsonValue>> = new Map();
  #head: JsonObject = {};
  #isWhole = false;

  constructor(events: readonly JsonObject[]) {
    for (const event of events) this.#add(event);
  }

  /** The body so far. The last event of a whole stream has it as it is. */
  read(): { readonly body: JsonObject; readonly isWhole: boolean } {
    if (this.#isWhole) return { body: this.#head, isWhole: true };
    const output = [...this.#items].sort(([left], [right]) => left - right).map(([, item]) => item);
    return { body: { ...this.#head, output }, isWhole: false };
  }

  #add(event: JsonObject): void {
    const { type, response, item, delta } = event;
    const index = typeof event.output_index === 'number' ? event.output_index : 0;
    if (isJsonObject(response)) this.#head = response;
    if (typeof type === 'string' && lastEvents.includes(type)) this.#isWhole = true;
    if (isJsonObject(item)) this.#items.set(index, { ...item });
    if (typeof delta === 'string') this.#append(index, String(type), delta);
  }

  #append(index: number, type: string, delta: string): void {
    const item = this.#items.get(index) ?? { type: 'message', role: 'assistant' };
    this.#items.set(index, item);
    if (type === 'response.output_text.delta') {
      const before = Array.isArray(item.content) && isJsonObject(item.content[0]) ? item.content[0].text : '';
      item.content = [{ type: 'output_text', text: `${before ?? ''}${delta}` }];
    } else if (type === 'response.function_call_arguments.delta') {
      item.arguments = `${item.arguments ?? ''}${delta}`;
    }
  }
}
