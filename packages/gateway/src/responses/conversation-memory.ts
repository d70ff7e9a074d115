import type { JsonObject, JsonValue, Store } from '@agentlightning/core';
import { objectsOf, textOf } from '../http/json-access.ts';
import { badRequest } from '../model-api/bad-request.ts';
import { type RecalledAnswer, recallAnswer } from './recall-answer.ts';
import { stemOf } from './response-ids.ts';

/** What a request says, with all that it only names. */
export interface Conversation {
  /** Earlier messages, in the form of chat. */
  readonly before: readonly JsonObject[];
  /** What comes after them, as items of Responses. */
  readonly items: readonly JsonObject[];
}

/** Where an answer belongs. */
export interface AnswerPlace {
  /** Calls of one attempt see each other's answers, and no others; null for a call that is not recorded. */
  readonly attempt: { readonly rolloutId: string; readonly attemptId: string } | null;
  /** What its ids have in common; it ends with the id of its span. */
  readonly stem: string;
  /** How long the request was that it answers, in characters. */
  readonly requestLength: number;
}

interface RememberedAnswer extends RecalledAnswer {
  /** About how much memory it takes. */
  readonly length: number;
}

/**
 * Remembers answers, so that a request can go on with one of them by its id, or name items of them instead of
 * repeating these. What it does not know any more, or another gateway answered, it looks up in the store.
 */
export class ConversationMemory {
  readonly #store: Pick<Store, 'querySpans'>;
  readonly #answers: Map<string, RememberedAnswer> = new Map();
  readonly #maxLength: number;
  #length = 0;

  /** @param maxLength - how many characters of JSON are kept, about; the oldest answers go first */
  constructor(store: Pick<Store, 'querySpans'>, maxLength: number = 64 * 1024 * 1024) {
    this.#store = store;
    this.#maxLength = maxLength;
  }

  /** Keeps an answer with what it answers. */
  remember(place: AnswerPlace, { before, items }: Conversation, output: JsonValue | undefined): void {
    const said = objectsOf(output);
    const length = place.requestLength + JSON.stringify(said).length;
    this.#answers.set(nameOf(place, place.stem), { before, items, output: said, length });
    this.#length += length;
    for (const [name, oldest] of this.#answers) {
      if (this.#length <= this.#maxLength) break;
      this.#answers.delete(name);
      this.#length -= oldest.length;
    }
  }

  /**
   * What a request says: with the answer that it goes on with, and what that answered, and with the items that it only
   * names in their places.
   *
   * @throws GatewayError 400 when an answer is not known
   */
  async complete(request: JsonObject, items: readonly JsonObject[], place: AnswerPlace): Promise<Conversation> {
    const previousId = textOf(request.previous_response_id);
    const named = await Promise.all(items.map((item, index) => this.#resolve(item, `input[${index}].id`, place)));
    if (previousId === null) return { before: [], items: named };
    const previous = await this.#find(previousId, place);
    if (previous === null) throw unknown('previous_response_id', `the response ${previousId}`);
    return { before: previous.before, items: [...previous.items, ...previous.output, ...named] };
  }

  async #resolve(item: JsonObject, param: string, place: AnswerPlace): Promise<JsonObject> {
    if (item.type !== 'item_reference') return item;
    const id = textOf(item.id) ?? '';
    const found = (await this.#find(id, place))?.output.find((known) => known.id === id);
    if (found === undefined) throw unknown(param, `the item ${id}`);
    return found;
  }

  async #find(id: string, place: AnswerPlace): Promise<RecalledAnswer | null> {
    const stem = stemOf(id);
    if (stem === null) return null;
    const remembered = this.#answers.get(nameOf(place, stem));
    if (remembered !== undefined || place.attempt === null) return remembered ?? null;
    return await recallAnswer(this.#store, place.attempt, stem);
  }
}

function nameOf({ attempt }: AnswerPlace, stem: string): string {
  return attempt === null ? stem : `${attempt.rolloutId}/${attempt.attemptId}/${stem}`;
}

function unknown(param: string, what: string): Error {
  return badRequest(
    param,
    `${param}: ${what} is not known`,
    'It was answered with `store: false`, to another attempt or not at all: send the whole input instead.',
  );
}
