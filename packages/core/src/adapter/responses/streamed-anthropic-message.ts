import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isObject } from '../../base/json-access.ts';

type Mutable = Record<string, JsonValue>;

/** The field of a content block that a delta extends. */
const deltaFields: Readonly<Record<string, readonly [delta: string, block: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['signature', 'signature'],
  // Chunks of JSON text; parsed when the block ends.
  input_json_delta: ['partial_json', 'partial_json'],
};

/** Assembles the events of an Anthropic Messages stream into the body of the equivalent non-streamed response. */
export class StreamedAnthropicMessage {
  readonly #blocks: Map<number, Mutable> = new Map();
  #message: JsonObject = {};
  #isWhole = false;

  /** Whether a final event completed the response. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Adds an event. */
  add(event: JsonObject): void {
    const index = typeof event.index === 'number' ? event.index : 0;
    if (event.type === 'message_start' && isObject(event.message)) this.#message = event.message;
    else if (event.type === 'content_block_start' && isObject(event.content_block)) {
      this.#blocks.set(index, { ...event.content_block });
    } else if (event.type === 'content_block_delta' && isObject(event.delta)) this.#extend(index, event.delta);
    else if (event.type === 'message_delta') this.#finish(event);
    else if (event.type === 'message_stop') this.#isWhole = true;
  }

  /** The body received so far. */
  toBody(): JsonObject {
    const content = [...this.#blocks].sort(([a], [b]) => a - b).map(([, block]) => wholeBlock(block));
    return { ...this.#message, content };
  }

  #extend(index: number, delta: JsonObject): void {
    const block = this.#blocks.get(index);
    const fields = deltaFields[String(delta.type)];
    if (block === undefined || fields === undefined) return;
    const [from, to] = fields;
    block[to] = `${block[to] ?? ''}${delta[from] ?? ''}`;
  }

  #finish(event: JsonObject): void {
    const usage = isObject(this.#message.usage) ? this.#message.usage : {};
    this.#message = {
      ...this.#message,
      ...(isObject(event.delta) ? event.delta : {}),
      usage: { ...usage, ...(isObject(event.usage) ? event.usage : {}) },
    };
  }
}

function wholeBlock(block: Mutable): JsonObject {
  const { partial_json: text, ...rest } = block;
  if (typeof text !== 'string') return block;
  try {
    return { ...rest, input: JSON.parse(text) };
  } catch {
    // The stream ended within the arguments; the partial text is kept.
    return { ...rest, input: text };
  }
}
