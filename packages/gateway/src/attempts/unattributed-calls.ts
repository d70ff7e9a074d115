import type { Clock, Store } from '@agentlightning/core';
import type { AttemptedRollout } from '@agentlightning/core/store';
import type { GatewayLog } from '../wire/gateway-options.ts';
import { attemptTraceId, type CallingAttempt } from './calling-attempt.ts';

/** Dependencies of {@link UnattributedCalls}. */
export interface UnattributedCallsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: GatewayLog;
}

/** A rollout that holds unattributed calls. */
interface UnattributedRollout {
  readonly opened: Promise<AttemptedRollout>;
  callCount: number;
  lastUseMs: number;
}

/** Limit of calls per rollout, to bound the size of its page in the dashboard. */
const maxCalls = 10_000;

/** Backoff after a store failure, in milliseconds. */
const pauseMs = 30_000;

/** Idle time after which the next call starts a new rollout, in milliseconds. */
const maxSilenceMs = 30 * 60_000;

/**
 * Records calls without an attempt in a separate rollout outside any run, without a mode, which is never trained on. It
 * starts with the first such call, and is replaced when it is full or idle for long.
 */
export class UnattributedCalls {
  readonly #options: UnattributedCallsOptions;
  #current: UnattributedRollout | null = null;
  /** Backoff deadline after a store failure. */
  #pausedUntilMs = 0;

  constructor(options: UnattributedCallsOptions) {
    this.#options = options;
  }

  /** The attempt to record the next unattributed call with; null when the store fails, which must not fail the call. */
  async attempt(): Promise<CallingAttempt | null> {
    if (this.#options.clock.now() < this.#pausedUntilMs) return null;
    const rollout = this.#rollout();
    const callIndex = rollout.callCount;
    rollout.callCount += 1;
    try {
      const { rolloutId, attempt } = await rollout.opened;
      const { attemptId } = attempt;
      const traceId = attemptTraceId(rolloutId, attemptId);
      const ids = { rolloutId, attemptId, runId: null, seedNumber: 1, samplingKey: rolloutId, samplingSeed: null };
      const call = { mode: null, traceId, callIndex, giveBackIndex: () => undefined, isUnattributed: true };
      return { ...ids, ...call, production: null };
    } catch (error) {
      if (this.#current === rollout) {
        this.#current = null;
        this.#pausedUntilMs = this.#options.clock.now() + pauseMs;
        this.#options.log.warn({ err: error, pauseMs }, 'calls without an attempt are temporarily not recorded');
      }
      return null;
    }
  }

  /** Ends the open rollout. */
  async close(): Promise<void> {
    const last = this.#current;
    this.#current = null;
    if (last !== null) await this.#end(last);
  }

  #rollout(): UnattributedRollout {
    const nowMs = this.#options.clock.now();
    const current = this.#current;
    if (current !== null && current.callCount < maxCalls && nowMs - current.lastUseMs < maxSilenceMs) {
      current.lastUseMs = nowMs;
      return current;
    }
    if (current !== null) void this.#end(current);
    const opened = this.#options.store.startRollout({
      input: { unattributedCalls: true },
      metadata: { source: 'agentlightning-gateway', what: 'model calls that belong to no attempt' },
      // Times out when this process is killed.
      config: { unresponsiveMs: 2 * maxSilenceMs },
    });
    const next: UnattributedRollout = { opened, callCount: 0, lastUseMs: nowMs };
    this.#current = next;
    return next;
  }

  async #end({ opened }: UnattributedRollout): Promise<void> {
    try {
      const { rolloutId, attempt } = await opened;
      await this.#options.store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the rollout of unattributed calls could not be ended');
    }
  }
}
