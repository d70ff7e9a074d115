import type { JsonObject } from '@agentlightning/core';
import { numberOf } from '../http/json-access.ts';
import { type ChunkParts, noParts, partReaders } from './chunk-parts.ts';
import { type CutChunk, cutChunk, markStart, marks, type PartPlace } from './cut-chunk.ts';
import type { AddedFields } from './prepared-request.ts';
import { visibleAnswer } from './visible-answer.ts';

/** A chunk that was read without parsing it. */
export interface ReadChunk {
  readonly form: ChunkForm;
  readonly parts: ChunkParts;
}

/**
 * What chunks of a stream have in common: all but their text, log-probabilities and token ids, each a whole value of
 * JSON in the same place. So a chunk of a known form need not be parsed.
 */
export class ChunkForm {
  readonly #places: readonly PartPlace[];
  readonly #after: string;
  /** What the client gets around the text; null when it gets the chunk as it is. */
  readonly #visible: readonly [string, string] | null;
  /** Of the choice whose chunks have this form. */
  readonly index: number;
  /** The field of the delta that has the text; null when there is none. */
  readonly textName: string | null;
  /** A chunk of this form without text and tokens. */
  readonly empty: JsonObject;
  /** The same as the client sees it. */
  readonly visibleEmpty: JsonObject;

  private constructor(cut: CutChunk, added: AddedFields, visible: readonly [string, string] | null) {
    const { body, choice, delta, textName } = cut;
    this.#places = cut.places;
    this.#after = cut.after;
    this.#visible = visible;
    this.index = numberOf(choice.index) ?? 0;
    this.textName = textName;
    const emptyDelta = textName === null ? delta : { ...delta, [textName]: '' };
    this.empty = { ...body, choices: [{ ...choice, delta: emptyDelta }] };
    this.visibleEmpty = visibleAnswer(this.empty, added);
  }

  /** Learns the form of a chunk; null when the chunk must be parsed. */
  static learn(data: string, added: AddedFields): ReadChunk | null {
    const cut = cutChunk(data);
    if (cut === null) return null;
    const visible = visibleAnswer(cut.body, added);
    if (visible === cut.body) return { form: new ChunkForm(cut, added, null), parts: cut.parts };
    const [before = '', after = ''] = JSON.stringify(visible).split(`"${marks.text}"`);
    // Agents that asked for tokens themselves get them as they are written when they were parsed.
    if (before.includes(markStart) || after.includes(markStart)) return null;
    return { form: new ChunkForm(cut, added, [`data: ${before}`, `${after}\n\n`]), parts: cut.parts };
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

  /** The chunk as it is written in the client's stream; null when that is as it came. */
  written({ writtenText }: ChunkParts): string | null {
    return this.#visible === null ? null : this.#visible[0] + writtenText + this.#visible[1];
  }
}
