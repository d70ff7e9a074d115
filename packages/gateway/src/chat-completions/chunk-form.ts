import { type JsonObject, type JsonValue, parseJsonObject } from '@agentlightning/core';
import { numberOf } from '../http/json-access.ts';
import { type ChunkParts, noParts, type PartName, partReaders } from './chunk-parts.ts';
import { type CutChunk, cutChunk, markOf, markStart, type PartPlace } from './cut-chunk.ts';
import type { AddedFields } from './prepared-request.ts';
import { visibleAnswer } from './visible-answer.ts';

/** A chunk that was read without parsing it. */
export interface ReadChunk {
  readonly form: ChunkForm;
  readonly parts: ChunkParts;
}

/** What the client gets around the parts that it sees, in their order. */
interface VisibleForm {
  readonly places: readonly { readonly name: SeenPart; readonly before: string }[];
  readonly after: string;
}

type SeenPart = Extract<PartName, 'id' | 'created' | 'text'>;

/**
 * What chunks have in common: all but their ids, text, log-probabilities and token ids, each a whole value of JSON in
 * the same place. So a chunk of a known form need not be parsed, also when it is of another answer.
 */
export class ChunkForm {
  readonly #places: readonly PartPlace[];
  readonly #after: string;
  /** Null when the client gets the chunk as it is. */
  readonly #visible: VisibleForm | null;
  readonly #empty: JsonObject;
  /** Of the choice whose chunks have this form. */
  readonly index: number;
  /** The field of the delta that has the text; null when there is none. */
  readonly textName: string | null;

  private constructor(cut: CutChunk, visible: VisibleForm | null) {
    const { body, choice, delta, textName } = cut;
    this.#places = cut.places.map(({ name, before }) => ({ name, before: ownText(before) }));
    this.#after = ownText(cut.after);
    this.#visible = visible;
    this.index = numberOf(choice.index) ?? 0;
    this.textName = textName;
    const emptyDelta = textName === null ? delta : { ...delta, [textName]: '' };
    this.#empty = { ...body, choices: [{ ...choice, delta: emptyDelta }] };
  }

  /** Learns the form of a chunk; null when the chunk must be parsed. */
  static learn(data: string, added: AddedFields): ReadChunk | null {
    const cut = cutChunk(data);
    if (cut === null) return null;
    const body = visibleAnswer(cut.body, added);
    const visible = body === cut.body ? null : visibleForm(JSON.stringify(body));
    // Agents that asked for tokens themselves get them as they are written when they were parsed.
    if (visible !== null && hasMarks(visible)) return null;
    return { form: new ChunkForm(cut, visible), parts: cut.parts };
  }

  /** What a chunk says beside what all of this form say; null when it is of another form. */
  read(data: string): ChunkParts | null {
    const parts = noParts();
    let at = 0;
    for (const { name, before } of this.#places) {
      const start = at + before.length;
      // A tenth of what `startsWith` costs.
      if (data.slice(at, start) !== before) return null;
      at = partReaders[name](data, start, parts);
      if (at < 0) return null;
    }
    return data.slice(at) === this.#after ? parts : null;
  }

  /** A chunk as if it had no text and no tokens of the answer. */
  empty(parts: ChunkParts): JsonObject {
    const filled: Record<string, JsonValue> = { ...this.#empty };
    if (parts.writtenId !== '') filled.id = parts.writtenId.slice(1, -1);
    if (parts.writtenCreated !== '') filled.created = Number(parts.writtenCreated);
    if (filled.prompt_token_ids === markOf('promptTokenIds')) filled.prompt_token_ids = parts.promptTokenIds;
    return filled;
  }

  /** The chunk as it is written in the client's stream; null when that is as it came. */
  written({ writtenId, writtenCreated, writtenText }: ChunkParts): string | null {
    if (this.#visible === null) return null;
    let written = '';
    for (const { name, before } of this.#visible.places) {
      written += before + (name === 'text' ? writtenText : name === 'id' ? writtenId : writtenCreated);
    }
    return written + this.#visible.after;
  }
}

const seenMark: RegExp = new RegExp(`"${markStart}(id|created|text)"`);

function visibleForm(written: string): VisibleForm {
  const [first = '', ...rest] = `data: ${written}\n\n`.split(seenMark);
  let before = first;
  const places: { readonly name: SeenPart; readonly before: string }[] = [];
  for (let at = 0; at < rest.length; at += 2) {
    const name = rest[at];
    if (name === 'id' || name === 'created' || name === 'text') places.push({ name, before });
    before = rest[at + 1] ?? '';
  }
  return { places, after: before };
}

function hasMarks({ places, after }: VisibleForm): boolean {
  return after.includes(markStart) || places.some(({ before }) => before.includes(markStart));
}

/** A text that does not keep the one it was cut out of. */
function ownText(text: string): string {
  const own = parseJsonObject(JSON.stringify({ text }))?.text;
  return typeof own === 'string' ? own : text;
}
