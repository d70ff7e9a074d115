import type { JsonObject, JsonValue, Store } from '@agentlightning/core';
import { badRequest } from '../model-api/bad-request.ts';
import type { Conversation, ConversationMemory, ResponseContext } from '../model-api/translation.ts';
import { objectsOf, textOf } from '../wire/json-access.ts';
import { type RecalledResponse, recallResponse } from './recall-response.ts';
import { stemOf } from './response-ids.ts';

interface CachedResponse extends RecalledResponse {
  /** Approximate memory size. */
  readonly length: number;
}

/**
 * Caches responses, so that a request can continue one by its id, or reference its items. Falls back to the records in
 * the store for evicted responses and those of other gateways.
 */
export class CachedConversations implements ConversationMemory {
  readonly #store: Pick<Store, 'querySpans'>;
  readonly #responses: Map<string, CachedResponse> = new Map();
  readonly #maxLength: number;
  #length = 0;

  /** @param maxLength - approximate limit, in characters of JSON; the oldest responses are evicted first */
  constructor(store: Pick<Store, 'querySpans'>, maxLength: number = 64 * 1024 * 1024) {
    this.#store = store;
    this.#maxLength = maxLength;
  }

  remember(context: ResponseContext, { before, items }: Conversation, value: JsonValue | undefined): void {
    const output = objectsOf(value);
    const length = context.requestLength + JSON.stringify(output).length;
    this.#responses.set(nameOf(context, context.stem), { before, items, output, length });
    this.#length += length;
    for (const [name, oldest] of this.#responses) {
      if (this.#length <= this.#maxLength) break;
      this.#responses.delete(name);
      this.#length -= oldest.length;
    }
  }

  async complete(request: JsonObject, items: readonly JsonObject[], context: ResponseContext): Promise<Conversation> {
    const previousId = textOf(request.previous_response_id);
    const named = await Promise.all(items.map((item, index) => this.#resolve(item, `input[${index}].id`, context)));
    if (previousId === null) return { before: [], items: named };
    const previous = await this.#find(previousId, context);
    if (previous === null) throw unknown('previous_response_id', `the response ${previousId}`);
    return { before: previous.before, items: [...previous.items, ...previous.output, ...named] };
  }

  async #resolve(item: JsonObject, param: string, context: ResponseContext): Promise<JsonObject> {
    if (item.type !== 'item_reference') return item;
    const id = textOf(item.id) ?? '';
    const found = (await this.#find(id, context))?.output.find((known) => known.id === id);
    if (found === undefined) throw unknown(param, `the item ${id}`);
    return found;
  }

  async #find(id: string, context: ResponseContext): Promise<RecalledResponse | null> {
    const stem = stemOf(id);
    if (stem === null) return null;
    const remembered = this.#responses.get(nameOf(context, stem));
    if (remembered !== undefined || context.attempt === null) return remembered ?? null;
    return await recallResponse(this.#store, context.attempt, stem);
  }
}

function nameOf({ attempt }: ResponseContext, stem: string): string {
  return attempt === null ? stem : `${attempt.rolloutId}/${attempt.attemptId}/${stem}`;
}

function unknown(param: string, what: string): Error {
  return badRequest(
    param,
    `${param}: ${what} is not known`,
    'Responses with `store: false` and those of other attempts cannot be referenced: send the whole input instead.',
  );
}
