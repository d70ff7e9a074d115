import type { Rollout, Store } from '@agentlightning/core';
import { terminalRolloutStatuses } from '@agentlightning/core/store';
import { type ServerRun, serverRunId } from './server-run.ts';
import { Turns } from './turns.ts';

/** A part of the log of finished rollouts. */
export interface TerminalPage {
  readonly rollouts: readonly Rollout[];
  /** Where the next page begins. */
  readonly nextAfter: number;
  /** How many rollouts have finished, with those that are deleted. */
  readonly total: number;
}

/** How far the clocks and transactions of the store's writers may be apart. */
const lateMs = 10_000;

const pageSize = 1000;

/**
 * The finished rollouts in the order in which they were seen to finish. A place in it never changes while the gateway
 * runs. After a restart the deleted ones come first: a reader may then see a rollout again, but misses none.
 */
export class TerminalLog {
  readonly #store: Store;
  readonly #run: ServerRun;
  readonly #turns: Turns = new Turns();
  /** Null stands for a rollout that was deleted. */
  readonly #rolloutIds: (string | null)[] = [];
  readonly #places: Map<string, number> = new Map();
  #isSeeded = false;
  #readUntilMs = Number.NEGATIVE_INFINITY;

  constructor(store: Store, run: ServerRun) {
    this.#store = store;
    this.#run = run;
  }

  /** The rollouts from a place on, at most `limit` places. */
  async read(after: number, limit: number): Promise<TerminalPage> {
    await this.#turns.take('', () => this.#catchUp());
    const part = this.#rolloutIds.slice(after, after + limit);
    const rolloutIdIn = part.filter((rolloutId) => rolloutId !== null);
    const { items } =
      rolloutIdIn.length === 0 ? { items: [] } : await this.#store.queryRollouts({ rolloutIdIn, runId: serverRunId });
    const byId = new Map(items.map((rollout) => [rollout.rolloutId, rollout]));
    return {
      rollouts: rolloutIdIn.flatMap((rolloutId) => byId.get(rolloutId) ?? []),
      nextAfter: after + part.length,
      total: this.#rolloutIds.length,
    };
  }

  /** Keeps the place of a finished rollout that is about to be deleted. */
  async noteDeleted(rolloutId: string): Promise<void> {
    await this.#run.change((state) => ({ ...state, deletedCount: state.deletedCount + 1 }));
    if (!this.#isSeeded) return;
    const place = this.#places.get(rolloutId) ?? this.#rolloutIds.length;
    this.#rolloutIds[place] = null;
    this.#places.delete(rolloutId);
  }

  async #catchUp(): Promise<void> {
    if (!this.#isSeeded) {
      const { deletedCount } = await this.#run.read();
      for (let place = 0; place < deletedCount; place += 1) this.#rolloutIds.push(null);
      this.#isSeeded = true;
    }
    const endTimeFromMs = this.#readUntilMs - lateMs;
    for (let offset = 0; ; offset += pageSize) {
      const { items } = await this.#store.queryRollouts({
        runId: serverRunId,
        statusIn: terminalRolloutStatuses,
        sortBy: 'endTimeMs',
        ...(Number.isFinite(endTimeFromMs) ? { endTimeFromMs } : {}),
        limit: pageSize,
        offset,
      });
      for (const rollout of items) this.#note(rollout);
      if (items.length < pageSize) return;
    }
  }

  #note({ rolloutId, endTimeMs }: Rollout): void {
    this.#readUntilMs = Math.max(this.#readUntilMs, endTimeMs ?? 0);
    if (this.#places.has(rolloutId)) return;
    this.#places.set(rolloutId, this.#rolloutIds.length);
    this.#rolloutIds.push(rolloutId);
  }
}
