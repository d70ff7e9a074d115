import { AgentLightningError } from '@agentlightning/core';

/** Kind of wait: for a claim, the end of rollouts, or changes. */
export type WaitKind = 'claim' | 'rollouts' | 'events';

/** Limits concurrent long polls and event streams, each of which holds a connection. */
export class LongPollLimit {
  readonly #max: number;
  readonly #open = new Map<WaitKind, number>([
    ['claim', 0],
    ['rollouts', 0],
    ['events', 0],
  ]);
  #total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Current number by kind. */
  get byKind(): ReadonlyMap<WaitKind, number> {
    return this.#open;
  }

  /**
   * Begins a wait.
   *
   * @returns the function that ends it; further calls have no effect
   * @throws AgentLightningError RESOURCE_EXHAUSTED when there are too many
   */
  begin(kind: WaitKind): () => void {
    if (this.#total >= this.#max) {
      throw new AgentLightningError({
        code: 'RESOURCE_EXHAUSTED',
        message: `${this.#total} requests are already waiting, the limit is ${this.#max}`,
        remedy: 'Retry later, or raise maxWaits of the server.',
        details: { maxWaits: this.#max },
      });
    }
    this.#add(kind, 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#add(kind, -1);
    };
  }

  #add(kind: WaitKind, count: 1 | -1): void {
    this.#total += count;
    this.#open.set(kind, (this.#open.get(kind) ?? 0) + count);
  }
}
