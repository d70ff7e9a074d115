import type { Run, Store } from '@agentlightning/core';
import type { RunEffort } from '@agentlightning/core/protocol';
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
  readonly #workedSeconds: () => number;
  #state: SearchRunState;
  #written: Promise<unknown> = Promise.resolve();

  constructor(options: {
    readonly store: Store;
    readonly run: Run;
    readonly lease: RunLease;
    readonly state: SearchRunState;
    /** The time in which the search was worked on, of earlier processes too, in seconds. */
    readonly workedSeconds: () => number;
  }) {
    this.#store = options.store;
    this.#runId = options.run.runId;
    this.#lease = options.lease;
    this.#workedSeconds = options.workedSeconds;
    this.#state = options.state;
  }

  get state(): SearchRunState {
    return this.#state;
  }

  /** What the search has used until now. */
  get effort(): RunEffort {
    return { seconds: this.#workedSeconds(), trainingTokens: 0 };
  }

  /** Resolves when the change and its additional data are stored. */
  async change(change: Partial<SearchRunState>, also: AlsoWritten = {}): Promise<void> {
    this.#state = { ...this.#state, ...change, effort: this.effort };
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
