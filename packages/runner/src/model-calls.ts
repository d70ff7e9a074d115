import type { Clock } from '@agentlightning/core';

/** The model calls of an attempt through the gateway. */
export class ModelCalls {
  readonly #clock: Clock;
  /** The calls without a response, with the time at which each was sent. */
  readonly #open: Map<symbol, number> = new Map();
  #isUnavailable = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the last call had an infrastructure failure. */
  get isUnavailable(): boolean {
    return this.#isUnavailable;
  }

  /** Waiting time of the oldest call without a response, in milliseconds; 0 without one. */
  get waitMs(): number {
    const now = this.#clock.now();
    return now - Math.min(now, ...this.#open.values());
  }

  /** Begins a call; the result ends it. See `RolloutContext.onModelCall`. */
  begin(): (isUnavailable: boolean) => void {
    const call = Symbol();
    this.#open.set(call, this.#clock.now());
    return (isUnavailable) => {
      this.#open.delete(call);
      this.#isUnavailable = isUnavailable;
    };
  }
}
