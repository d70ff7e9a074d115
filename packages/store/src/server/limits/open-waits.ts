import { AgentLightningError } from '@agentlightning/core';

/** What a request may wait for: a rollout to claim, rollouts to end, changes. */
export type WaitKind = 'claim' | 'rollouts' | 'events';

/** The requests that wait for something to happen: each keeps a connection, so there is an end to them. */
export class OpenWaits {
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

  /** How many there are of each kind. */
  get byKind(): ReadonlyMap<WaitKind, number> {
    return this.#open;
  }

  /**
   * Begins a wait.
   *
   * @returns ends it; ending it again changes nothing
   * @throws AgentLightningError RESOURCE_EXHAUSTED when there are too many
   */
  begin(kind: WaitKind): () => void {
    if (this.#total >= this.#max) {
      throw new AgentLightningError({
        code: 'RESOURCE_EXHAUSTED',
        message: `There are ${this.#total} requests that wait already, and there may be ${this.#max}`,
        remedy: 'Try again later, or start the server with a larger maxWaits.',
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
