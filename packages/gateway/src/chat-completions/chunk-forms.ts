import { ChunkForm, type ReadChunk } from './chunk-form.ts';
import type { AddedFields } from './prepared-request.ts';

/** How many forms a stream's chunks may have; when there are more, none is likely to come again. */
const maxForms = 16;

/** Reads the chunks of one stream, of which most have a form that one before them had. */
export class ChunkForms {
  readonly #added: AddedFields;
  readonly #known: ChunkForm[] = [];
  #last: ChunkForm | null = null;

  constructor(added: AddedFields) {
    this.#added = added;
  }

  /** Null when the chunk is an unusual one, which must be parsed. */
  read(data: string): ReadChunk | null {
    const read = this.#readAs(this.#last, data) ?? this.#readAsKnown(data) ?? this.#learn(data);
    if (read !== null) this.#last = read.form;
    return read;
  }

  #readAs(form: ChunkForm | null, data: string): ReadChunk | null {
    const parts = form?.read(data) ?? null;
    return form === null || parts === null ? null : { form, parts };
  }

  #readAsKnown(data: string): ReadChunk | null {
    for (const form of this.#known) {
      const read = form === this.#last ? null : this.#readAs(form, data);
      if (read !== null) return read;
    }
    return null;
  }

  #learn(data: string): ReadChunk | null {
    if (this.#known.length === maxForms) return null;
    const learned = ChunkForm.learn(data, this.#added);
    if (learned !== null) this.#known.push(learned.form);
    return learned;
  }
}
