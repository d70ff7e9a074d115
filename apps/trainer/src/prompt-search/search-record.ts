import type { Run, Store } from '@agentlightning/core';
import type { MetricPoint, RunStatus } from '@agentlightning/core/store';
import type { RunLease } from '../run/run-lease.ts';
import { writeState } from '../run/run-state.ts';
import type { SearchRunState } from './search-run-state.ts';

/** Data written in one transaction with a change. */
export interface AlsoWritten {
  readonly status?: RunStatus;
  readonly metrics?: readonly MetricPoint[];
}

/** The state of a search, in this process and in the store. Changes are written sequentially. */
export class SearchRecord {
  readonly #store: Store;
  readonly #runId: string;
  readonly #lease: RunLease;
  #state: SearchRunState;
  #written: Promise<unknown> = Promise.resolve();

  constructor(options: {
    readonly store: Store;
    readonly run: Run;
    readonly lease: RunLease;
    readonly state: SearchRunState;
  }) {
    this.#store = options.store;
    this.#runId = options.run.runId;
    this.#lease = options.lease;
    this.#state = options.state;
  }

  get state(): SearchRunState {
    return this.#state;
  }

  /** Resolves when the change and its additional data are stored. */
  async change(change: Partial<SearchRunState>, also: AlsoWritten = {}): Promise<void> {
    this.#state = { ...this.#state, ...change };
    const write = this.#written.then(() => this.#write(also));
    this.#written = write.catch(() => undefined);
    await write;
  }

  async #write({ status, metrics }: AlsoWritten): Promise<void> {
    await this.#lease.renew();
    const state = writeState(this.#state);
    await this.#store.updateRun(this.#runId, { ...(status === undefined ? {} : { status }), state }, metrics);
  }
}
