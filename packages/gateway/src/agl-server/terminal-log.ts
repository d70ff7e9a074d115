import type { Rollout, Store } from '@agentlightning/core';
import { KeyedMutex } from '@agentlightning/core/internal';
import { terminalRolloutStatuses } from '@agentlightning/core/store';
import { type ServerRun, serverRunId } from './server-run.ts';

/** A page of the log of finished rollouts. */
export interface TerminalPage {
  readonly rollouts: readonly Rollout[];
  /** Cursor of the next page. */
  readonly nextAfter: number;
  /** Number of finished rollouts, including deleted ones. */
  readonly total: number;
}

/** Maximum clock skew and transaction delay between the store's writers, in milliseconds. */
const lateMs = 10_000;

const pageSize = 1000;

/**
 * The finished rollouts in the order in which they were seen to finish. Positions are stable while the gateway runs.
 * After a restart the deleted ones come first: a reader may then see a rollout again, but misses none.
 */
export class TerminalLog {
  readonly #store: Store;
  readonly #run: ServerRun;
  readonly #mutex: KeyedMutex = new KeyedMutex();
  /** Null for a deleted rollout. */
  readonly #rolloutIds: (string | null)[] = [];
  readonly #positions: Map<string, number> = new Map();
  #isSeeded = false;
  #readUntilMs = Number.NEGATIVE_INFINITY;

  constructor(store: Store, run: ServerRun) {
    this.#store = store;
    this.#run = run;
  }

  /** The rollouts from a position on, at most `limit` positions. */
  async read(after: number, limit: number): Promise<TerminalPage> {
    await this.#mutex.runExclusive('', () => this.#catchUp());
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

  /** Keeps the position of a finished rollout that is about to be deleted. */
  async noteDeleted(rolloutId: string): Promise<void> {
    await this.#run.change((state) => ({ ...state, deletedCount: state.deletedCount + 1 }));
    if (!this.#isSeeded) return;
    const position = this.#positions.get(rolloutId) ?? this.#rolloutIds.length;
    this.#rolloutIds[position] = null;
    this.#positions.delete(rolloutId);
  }

  async #catchUp(): Promise<void> {
    if (!this.#isSeeded) {
      const { deletedCount } = await this.#run.read();
      for (let position = 0; position < deletedCount; position += 1) this.#rolloutIds.push(null);
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
    if (this.#positions.has(rolloutId)) return;
    this.#positions.set(rolloutId, this.#rolloutIds.length);
    this.#rolloutIds.push(rolloutId);
  }
}
