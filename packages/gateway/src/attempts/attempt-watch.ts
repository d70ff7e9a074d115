import type { Clock, Store } from '@agentlightning/core';
import { isTerminalAttemptStatus, type StoreChange } from '@agentlightning/core/store';
import { GatewayError } from '../wire/gateway-error.ts';
import type { GatewayLog } from '../wire/gateway-options.ts';
import { findAttempt } from './attempt-directory.ts';
import type { CallsInFlight } from './calls-in-flight.ts';

/** Dependencies of an attempt watch. */
export interface AttemptWatchOptions {
  readonly store: Store;
  readonly calls: CallsInFlight;
  readonly clock: Clock;
  readonly log: GatewayLog;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
}

/** Delay before a failed watch restarts, and the polling interval of attempts until then, in milliseconds. */
const retryMs = 5000;

/** Ends the calls of attempts that have ended. */
export class AttemptWatch {
  readonly #options: AttemptWatchOptions;
  #isWatching = false;
  #hasWarned = false;

  constructor(options: AttemptWatchOptions) {
    this.#options = options;
  }

  /** Starts the watch with the first call of an attempt. */
  begin(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#watch();
  }

  async #watch(): Promise<void> {
    const { store, clock, log, closing } = this.#options;
    while (!closing.aborted) {
      try {
        for await (const change of store.watchChanges({ kindIn: ['attempt', 'rollout-deleted'], signal: closing })) {
          this.#hasWarned = false;
          await this.#take(change);
        }
      } catch (error) {
        if (!closing.aborted && !this.#hasWarned) {
          log.warn({ err: error }, 'the store watch failed; calls of ended attempts continue until the next poll');
        }
        this.#hasWarned = true;
      }
      // An aborted sleep is detected by the signal.
      await clock.sleep(retryMs, closing).catch(() => undefined);
      if (!closing.aborted) await this.#lookAtAll();
    }
  }

  async #take(change: StoreChange): Promise<void> {
    const { calls } = this.#options;
    if (change.kind === 'unknown') return await this.#lookAtAll();
    if (change.kind === 'rollout-deleted') {
      calls.endRollout(change.rolloutId, null, endedWhileCalling(`Rollout ${change.rolloutId} was deleted`));
    } else if (change.kind === 'attempt' && isTerminalAttemptStatus(change.status)) {
      const { rolloutId, attemptId, status } = change;
      calls.endRollout(rolloutId, attemptId, endedWhileCalling(`Attempt ${attemptId} is ${status}`));
    }
  }

  /** Reads every attempt that has calls in flight: the changes were missed. */
  async #lookAtAll(): Promise<void> {
    const { store, calls, log } = this.#options;
    for (const { rolloutId, attemptId } of calls.attempts) {
      try {
        const attempt = await findAttempt(store, rolloutId, attemptId);
        if (attempt === null || !isTerminalAttemptStatus(attempt.status)) continue;
        calls.endRollout(rolloutId, attemptId, endedWhileCalling(`Attempt ${attemptId} is ${attempt.status}`));
      } catch (error) {
        log.warn({ err: error, rolloutId, attemptId }, 'an attempt could not be read');
      }
    }
  }
}

function endedWhileCalling(what: string): GatewayError {
  return new GatewayError({
    code: 'CONFLICT',
    httpStatus: 409,
    type: 'conflict_error',
    message: `${what} while the call was in flight, so the call was aborted`,
    remedy: 'Stop the agent when its rollout ends, such as with the signal of the rollout context.',
    // The official clients retry a 409 by default, without effect here.
    headers: { 'x-should-retry': 'false' },
  });
}
