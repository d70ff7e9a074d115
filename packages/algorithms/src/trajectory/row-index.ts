import type { TrainedInterval } from '@agentlightning/core/algorithm';

/** A row that is being built. Its tokens end with a response, so that a prompt may continue it. */
export interface OpenRow {
  readonly tokenIds: number[];
  readonly trained: TrainedInterval[];
  readonly samplingLogprobs: number[];
  readonly temperature: number;
}

/** What was found for a prompt. */
export interface PrefixMatch {
  /** Rows whose tokens the prompt may start with, the longest one first. Compare before use: hashes can agree by chance. */
  readonly candidates: readonly OpenRow[];
  /** Whether a call before had exactly this prompt. */
  readonly isKnownPrompt: boolean;
}

/** How far a row's tokens are hashed, and what that came to. */
interface Hashed {
  readonly length: number;
  readonly hash: number;
}

/**
 * Finds the rows that a prompt continues in one pass over the prompt, however many rows are open: the rows are
 * kept under length and hash of their tokens. A row that grows is hashed from where it ended before.
 */
export class RowIndex {
  readonly #rows: Map<string, readonly OpenRow[]> = new Map();
  readonly #hashed: Map<OpenRow, Hashed> = new Map();
  /** How many rows have a length. */
  readonly #lengths: Map<number, number> = new Map();
  readonly #prompts: Set<string> = new Set();
  #shortestFirst: readonly number[] | null = null;

  /** Looks a prompt up, and remembers it. */
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

  /** From now on prompts that start with the row's tokens find it. */
  add(row: OpenRow): void {
    const hashed = extendHash(this.#hashed.get(row) ?? nothingHashed, row.tokenIds, row.tokenIds.length);
    this.#hashed.set(row, hashed);
    const key = keyOf(hashed);
    this.#rows.set(key, [...(this.#rows.get(key) ?? []), row]);
    this.#count(hashed.length, 1);
  }

  /** Forgets a row, before tokens are appended to it. */
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
