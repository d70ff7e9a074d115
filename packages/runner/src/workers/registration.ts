import type { Clock, JsonObject, Store } from '@agentlightning/core';
import { workerLeaseKey } from '@agentlightning/core/protocol';

/** Options of a {@link Registration}. */
export interface RegistrationOptions {
  /** Where the worker is registered. */
  readonly store: Pick<Store, 'updateWorker'>;
  /** Id of the worker. */
  readonly workerId: string;
  /** Heartbeat timeout after which the store considers the worker lost, in milliseconds. */
  readonly leaseMs: number;
  /** The current statistics of the worker. */
  readonly statistics: () => JsonObject;
  /** Called with the first of consecutive failures. */
  readonly onError: (error: unknown) => void;
  /** The clock. */
  readonly clock: Clock;
}

/** Heartbeats in a lease: some may be lost or late. */
const heartbeatsPerLease = 4;

/**
 * Registers a worker with a lease, and renews it with heartbeats. When they end without {@link Registration.end}, the store
 * returns the worker's attempts to the queue.
 */
export class Registration {
  readonly #options: RegistrationOptions;
  readonly #ended = new AbortController();
  readonly #renewals: Promise<void>;

  /** Starts the heartbeats. */
  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#renewals = this.#renew();
  }

  /** Ends the registration: the store deletes the worker. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#renewals;
    await this.#send(0);
  }

  async #renew(): Promise<void> {
    const { leaseMs, clock, onError } = this.#options;
    let isFailing = false;
    while (!this.#ended.signal.aborted) {
      try {
        await this.#send(leaseMs);
        isFailing = false;
      } catch (error) {
        if (!isFailing) onError(error);
        isFailing = true;
      }
      await clock.sleep(leaseMs / heartbeatsPerLease, this.#ended.signal).catch(() => undefined);
    }
  }

  async #send(leaseMs: number): Promise<void> {
    const { store, workerId, statistics } = this.#options;
    await store.updateWorker(workerId, { ...statistics(), [workerLeaseKey]: leaseMs });
  }
}
