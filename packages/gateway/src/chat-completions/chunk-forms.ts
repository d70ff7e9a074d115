import { ChunkForm, type ReadChunk } from './chunk-form.ts';
import type { AddedFields } from './prepared-request.ts';

/** How many forms are known at most, of those who asked for the same. */
const maxForms = 32;

/** How many forms one stream may bring; when there are more, none is likely to come again. */
const maxLearned = 16;

/** The forms that chunks of streams have had, the last one to be seen again first. */
export class KnownForms {
  readonly #forms: Map<string, ChunkForm[]> = new Map();

  /** Those of chunks of which the client is to see the same. */
  of({ logprobs, tokenIds, usage }: AddedFields): ChunkForm[] {
    const key = `${logprobs} ${tokenIds} ${usage}`;
    const forms = this.#forms.get(key) ?? [];
    this.#forms.set(key, forms);
    return forms;
  }
}

/** Reads the chunks of one stream, of which most have a form that one before them had, if only in another stream. */
export class ChunkForms {
  readonly #added: AddedFields;
  readonly #known: ChunkForm[];
  #last: ChunkForm | null = null;
  #learned = 0;

  constructor(added: AddedFields, known: KnownForms) {
    this.#added = added;
    this.#known = known.of(added);
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
    for (const [place, form] of this.#known.entries()) {
      const read = form === this.#last ? null : this.#readAs(form, data);
      if (read === null) continue;
      this.#known.splice(place, 1);
      this.#known.unshift(form);
      return read;
    }
    return null;
  }

  #learn(data: string): ReadChunk | null {
    if (this.#learned === maxLearned) return null;
    const read = ChunkForm.learn(data, this.#added);
    if (read === null) return null;
    this.#learned += 1;
    this.#known.unshift(read.form);
    if (this.#known.length > maxForms) this.#known.pop();
    return read;
  }
}
