import type { TrainedInterval } from '@agentlightning/core';

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

/**
 * Finds the rows that a prompt continues in one pass over the prompt, however many rows are open: the rows are
 * kept under length and hash of their tokens.
 */
export class RowIndex {
  readonly #rows: Map<string, readonly OpenRow[]> = new Map();
  readonly #rowLengths: Set<number> = new Set();
  readonly #prompts: Set<string> = new Set();

  /** Looks a prompt up, and remembers it. */
  find(prompt: readonly number[]): PrefixMatch {
    const candidates: OpenRow[] = [];
    let hash = 0;
    for (const [index, tokenId] of prompt.entries()) {
      hash = extendHash(hash, tokenId);
      if (!this.#rowLengths.has(index + 1)) continue;
      candidates.unshift(...(this.#rows.get(keyOf(index + 1, hash)) ?? []));
    }
    const promptKey = keyOf(prompt.length, hash);
    const isKnownPrompt = this.#prompts.has(promptKey);
    this.#prompts.add(promptKey);
    return { candidates, isKnownPrompt };
  }

  /** From now on prompts that start with the row's tokens find it. */
  add(row: OpenRow): void {
    const key = keyOfRow(row);
    this.#rows.set(key, [...(this.#rows.get(key) ?? []), row]);
    this.#rowLengths.add(row.tokenIds.length);
  }

  /** Forgets a row, before tokens are appended to it. */
  remove(row: OpenRow): void {
    const key = keyOfRow(row);
    const others = (this.#rows.get(key) ?? []).filter((other) => other !== row);
    if (others.length === 0) this.#rows.delete(key);
    else this.#rows.set(key, others);
  }
}

function keyOfRow(row: OpenRow): string {
  return keyOf(row.tokenIds.length, row.tokenIds.reduce(extendHash, 0));
}

function keyOf(length: number, hash: number): string {
  return `${length}:${hash}`;
}

/** FNV-1a over whole token ids. */
function extendHash(hash: number, tokenId: number): number {
  return Math.imul(hash ^ 0x811c9dc5 ^ tokenId, 0x01000193);
}
