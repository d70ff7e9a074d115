import type { AttemptedRollout, Clock, Store } from '@agentlightning/core';
import { attemptTraceId, type CallingAttempt } from './calling-attempt.ts';
import type { GatewayLog } from './gateway-options.ts';

/** What plain calls are recorded with. */
export interface PlainCallsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: GatewayLog;
}

/** A rollout that holds plain calls. */
interface PlainRollout {
  readonly opened: Promise<AttemptedRollout>;
  callCount: number;
  lastUseMs: number;
}

/** How many calls one rollout holds, so that it can still be read at once. */
const maxCalls = 10_000;

/** How long nothing is tried with a store that failed. */
const pauseMs = 30_000;

/** How long a rollout of plain calls may be silent: then the next call begins another. */
const maxSilenceMs = 30 * 60_000;

/**
 * Where calls are recorded that belong to no attempt: in a rollout of their own, of no run and no mode, which nobody
 * trains on. It begins with the first such call, and is replaced when it is full or was long silent.
 */
export class PlainCalls {
  readonly #options: PlainCallsOptions;
  #current: PlainRollout | null = null;
  /** Until when a store that failed is left in peace. */
  #pausedUntilMs = 0;

  constructor(options: PlainCallsOptions) {
    this.#options = options;
  }

  /** What the next plain call is recorded with; null when the store cannot be used, which must not stop such a call. */
  async attempt(): Promise<CallingAttempt | null> {
    if (this.#options.clock.now() < this.#pausedUntilMs) return null;
    const rollout = this.#rollout();
    const callIndex = rollout.callCount;
    rollout.callCount += 1;
    try {
      const { rolloutId, attempt } = await rollout.opened;
      const { attemptId } = attempt;
      const traceId = attemptTraceId(rolloutId, attemptId);
      const place = { rolloutId, attemptId, seedNumber: 1, samplingKey: rolloutId };
      return { ...place, mode: null, traceId, callIndex, isPlain: true };
    } catch (error) {
      if (this.#current === rollout) {
        this.#current = null;
        this.#pausedUntilMs = this.#options.clock.now() + pauseMs;
        this.#options.log.warn({ err: error, pauseMs }, 'calls that belong to no attempt are not recorded for now');
      }
      return null;
    }
  }

  /** Ends the rollout that is open. */
  async close(): Promise<void> {
    const last = this.#current;
    this.#current = null;
    if (last !== null) await this.#end(last);
  }

  #rollout(): PlainRollout {
    const nowMs = this.#options.clock.now();
    const current = this.#current;
    if (current !== null && current.callCount < maxCalls && nowMs - current.lastUseMs < maxSilenceMs) {
      current.lastUseMs = nowMs;
      return current;
    }
    if (current !== null) void this.#end(current);
    const opened = this.#options.store.startRollout({
      input: { plainCalls: true },
      metadata: { source: 'agentlightning-gateway', what: 'model calls that belong to no attempt' },
      // Ends by itself when this process dies.
      config: { unresponsiveMs: 2 * maxSilenceMs },
    });
    const next: PlainRollout = { opened, callCount: 0, lastUseMs: nowMs };
    this.#current = next;
    return next;
  }

  async #end({ opened }: PlainRollout): Promise<void> {
    try {
      const { rolloutId, attempt } = await opened;
      await this.#options.store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the rollout of plain calls could not be ended');
    }
  }
}
