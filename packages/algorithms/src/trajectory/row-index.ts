import type { RowImage, TrainedInterval } from '@agentlightning/core/algorithm';

/** A row under construction. Its tokens end with a response, which a prompt can continue. */
export interface OpenRow {
  readonly tokenIds: number[];
  readonly trained: TrainedInterval[];
  readonly samplingLogprobs: number[];
  readonly temperature: number;
  images?: readonly RowImage[];
}

/** Result of a lookup. */
export interface PrefixMatch {
  /** Rows whose tokens may be a prefix of the prompt, the longest first. Compare tokens before use: hashes can collide. */
  readonly candidates: readonly OpenRow[];
  /** Whether an earlier call had exactly this prompt. */
  readonly isKnownPrompt: boolean;
}

/** Hash of a prefix of a row. */
interface Hashed {
  readonly length: number;
  readonly hash: number;
}

/**
 * Finds the rows that a prompt continues in one pass over the prompt, independent of the number of rows: rows are indexed by
 * length and hash of their tokens. Hashes are computed incrementally.
 */
export class RowIndex {
  readonly #rows: Map<string, readonly OpenRow[]> = new Map();
  readonly #hashed: Map<OpenRow, Hashed> = new Map();
  /** Number of rows by length. */
  readonly #lengths: Map<number, number> = new Map();
  readonly #prompts: Set<string> = new Set();
  #shortestFirst: readonly number[] | null = null;

  /** Looks up a prompt and records it. */
  find(prompt: readonly number[]): PrefixMatch {
    const candidates: OpenRow[] = [];
    this.#shortestFirst ??= [...this.#lengths.keys()].sort((one, other) => one - other);
    let hashed = nothingHashed;
    for (const length of this.#shortestFirst) {
      if (length > prompt.length) break;
      hashed = extendHash(hashed, prompt, length);
      candidates.unshift(...(this.#rows.get(keyOf(hashed)) ?? []));
    }
    const promptKey = keyOf(extendHash(hashed, prompt, prompt.length));
    const isKnownPrompt = this.#prompts.has(promptKey);
    this.#prompts.add(promptKey);
    return { candidates, isKnownPrompt };
  }

  /** Adds a row. */
  add(row: OpenRow): void {
    const hashed = extendHash(this.#hashed.get(row) ?? nothingHashed, row.tokenIds, row.tokenIds.length);
    this.#hashed.set(row, hashed);
    const key = keyOf(hashed);
    this.#rows.set(key, [...(this.#rows.get(key) ?? []), row]);
    this.#count(hashed.length, 1);
  }

  /** Removes a row, before tokens are appended to it. */
  remove(row: OpenRow): void {
    const hashed = this.#hashed.get(row);
    if (hashed === undefined) return;
    const key = keyOf(hashed);
    const others = (this.#rows.get(key) ?? []).filter((other) => other !== row);
    if (others.length === 0) this.#rows.delete(key);
    else this.#rows.set(key, others);
    this.#count(hashed.length, -1);
  }

  #count(length: number, change: 1 | -1): void {
    const before = this.#lengths.get(length) ?? 0;
    if (before + change === 0) this.#lengths.delete(length);
    else this.#lengths.set(length, before + change);
    if (before === 0 || before + change === 0) this.#shortestFirst = null;
  }
}

const nothingHashed: Hashed = { length: 0, hash: 0 };

function keyOf({ length, hash }: Hashed): string {
  return `${length}:${hash}`;
}

/** FNV-1a over whole token ids: continues from a hash of their prefix. */
function extendHash({ length, hash }: Hashed, tokenIds: readonly number[], to: number): Hashed {
  let extended = hash;
  for (let position = length; position < to; position += 1) {
    extended = Math.imul(extended ^ 0x811c9dc5 ^ (tokenIds[position] ?? 0), 0x01000193);
  }
  return { length: to, hash: extended };
}
