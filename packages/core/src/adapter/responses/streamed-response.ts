import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isObject, numberOf, objectsOf, textOf } from '../../base/json-access.ts';

/** Events with the complete body. The body of a failed response can lack output that was streamed. */
const lastEvents = ['response.completed', 'response.incomplete'];

/**
 * Assembles the events of a Responses stream into the body of the equivalent non-streamed response, as far as received:
 * deltas extend texts and tool-call arguments, and the last event has the complete body.
 *
 * @example
 * ```ts
 * const response = new StreamedResponse();
 * for (const event of events) response.add(event);
 * response.toBody(); // { id, model, output: [{ type: 'message', content: [{ type: 'output_text', text: 'one t' }] }] }
 * ```
 */
export class StreamedResponse {
  readonly #items: Map<number, Record<string, JsonValue>> = new Map();
  #head: JsonObject = {};
  #isWhole = false;

  /** Whether a final event completed the response without failure. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Adds the next event. */
  add(event: JsonObject): void {
    const { type, response, item, delta } = event;
    const index = numberOf(event.output_index) ?? 0;
    if (isObject(response)) this.#head = response;
    if (lastEvents.includes(textOf(type) ?? '')) this.#isWhole = true;
    if (isObject(item)) this.#items.set(index, { ...item });
    if (typeof delta === 'string') this.#append(index, type, delta);
  }

  /** The body received so far. */
  toBody(): JsonObject {
    if (this.#isWhole) return this.#head;
    const output = [...this.#items].sort(([left], [right]) => left - right).map(([, item]) => item);
    const listed = objectsOf(this.#head.output);
    return { ...this.#head, output: output.length > listed.length ? output : listed };
  }

  #append(index: number, type: JsonValue | undefined, delta: string): void {
    const item = this.#items.get(index) ?? { type: 'message', role: 'assistant' };
    this.#items.set(index, item);
    if (type === 'response.output_text.delta') {
      const [part] = objectsOf(item.content);
      item.content = [{ type: 'output_text', text: (textOf(part?.text) ?? '') + delta }];
    } else if (type === 'response.function_call_arguments.delta') {
      item.arguments = (textOf(item.arguments) ?? '') + delta;
    }
  }
}
