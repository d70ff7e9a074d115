import { isJsonObject, type JsonObject, type JsonValue } from '@agentlightning/core';
import { objectsOf, textOf } from '../http/json-access.ts';
import { badRequest } from '../model-api/bad-request.ts';
import { stemOf } from './response-ids.ts';

/** Where an answer belongs. */
export interface AnswerPlace {
  /** Whose it is: calls with another key do not see it. */
  readonly key: string;
  /** What its ids have in common. */
  readonly stem: string;
  /** How long the request was that it answers, in characters. */
  readonly requestLength: number;
}

/** One answer with all that was said before it. */
interface RememberedAnswer {
  readonly input: readonly JsonObject[];
  readonly output: readonly JsonObject[];
  /** About how much memory it takes. */
  readonly length: number;
}

/**
 * Remembers answers, so that a request can go on with one of them by its id, or name items of them instead of
 * repeating these. Only calls of the same scope see an answer. The oldest are forgotten when there are too many.
 */
export class ConversationMemory {
  readonly #answers: Map<string, RememberedAnswer> = new Map();
  readonly #maxLength: number;
  #length = 0;

  /** @param maxLength - how many characters of JSON are kept, about */
  constructor(maxLength: number = 64 * 1024 * 1024) {
    this.#maxLength = maxLength;
  }

  /** Keeps an answer with the items that it answers. */
  remember(
    { key, stem, requestLength }: AnswerPlace,
    input: readonly JsonObject[],
    output: JsonValue | undefined,
  ): void {
    const said = objectsOf(output);
    const answer = { input, output: said, length: requestLength + JSON.stringify(said).length };
    this.#answers.set(nameOf(key, stem), answer);
    this.#length += answer.length;
    for (const [name, { length }] of this.#answers) {
      if (this.#length <= this.#maxLength) break;
      this.#answers.delete(name);
      this.#length -= length;
    }
  }

  /**
   * The items of a request with those of the answer that it goes on with before them, and with the items that it only
   * names in their places.
   *
   * @throws GatewayError 400 when an answer is not, or no more, remembered
   */
  complete(request: JsonObject, items: readonly JsonObject[], key: string): readonly JsonObject[] {
    const previousId = textOf(request.previous_response_id);
    const named = items.map((item, index) => this.#resolve(item, `input[${index}].id`, key));
    if (previousId === null) return named;
    const previous = this.#find(previousId, key);
    if (previous === null) throw forgotten('previous_response_id', `the response ${previousId}`);
    return [...previous.input, ...previous.output, ...named];
  }

  #resolve(item: JsonObject, place: string, key: string): JsonObject {
    if (!isReference(item)) return item;
    const id = textOf(item.id) ?? '';
    const found = this.#find(id, key)?.output.find((known) => known.id === id);
    if (found === undefined) throw forgotten(place, `the item ${id}`);
    return found;
  }

  #find(id: string, key: string): RememberedAnswer | null {
    const stem = stemOf(id);
    return stem === null ? null : (this.#answers.get(nameOf(key, stem)) ?? null);
  }
}

function isReference(item: JsonObject): boolean {
  return isJsonObject(item) && item.type === 'item_reference';
}

function nameOf(key: string, stem: string): string {
  return `${key}/${stem}`;
}

function forgotten(param: string, what: string): Error {
  return badRequest(
    param,
    `${param}: ${what} is not known here`,
    'It was answered with `store: false`, to another attempt, by another gateway or long ago: send the whole input instead.',
  );
}
