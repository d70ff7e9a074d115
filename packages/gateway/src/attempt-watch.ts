import type { Clock, Store } from '@agentlightning/core';
import { isTerminalAttemptStatus, type StoreChange } from '@agentlightning/core/store';
import type { CallsInFlight } from './calls-in-flight.ts';
import { findAttempt } from './find-attempt.ts';
import { GatewayError } from './gateway-error.ts';
import type { GatewayLog } from './gateway-options.ts';

/** What an attempt watch works with. */
export interface AttemptWatchOptions {
  readonly store: Store;
  readonly calls: CallsInFlight;
  readonly clock: Clock;
  readonly log: GatewayLog;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
}

/** How long a watch that failed waits before it begins again; meanwhile, attempts are read that often. */
const retryMs = 5000;

/** Ends the calls of attempts that are over: nobody waits for their answers, and the model has others to answer. */
export class AttemptWatch {
  readonly #options: AttemptWatchOptions;
  #isWatching = false;
  #hasWarned = false;

  constructor(options: AttemptWatchOptions) {
    this.#options = options;
  }

  /** Watches from the first call of an attempt on. */
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
          log.warn({ err: error }, 'the store cannot be watched, so calls of attempts that end go on for some seconds');
        }
        this.#hasWarned = true;
      }
      // A sleep that is cut short says so in the signal.
      await clock.sleep(retryMs, closing).catch(() => undefined);
      if (!closing.aborted) await this.#lookAtAll();
    }
  }

  async #take(change: StoreChange): Promise<void> {
    const { calls } = this.#options;
    if (change.kind === 'unknown') return await this.#lookAtAll();
    if (change.kind === 'rollout-deleted') {
      calls.endRollout(change.rolloutId, null, over(`Rollout ${change.rolloutId} was deleted`));
    } else if (change.kind === 'attempt' && isTerminalAttemptStatus(change.status)) {
      const { rolloutId, attemptId, status } = change;
      calls.endRollout(rolloutId, attemptId, over(`Attempt ${attemptId} is ${status}`));
    }
  }

  /** What changed is not known: every attempt that has calls is read. */
  async #lookAtAll(): Promise<void> {
    const { store, calls, log } = this.#options;
    for (const { rolloutId, attemptId } of calls.attempts) {
      try {
        const attempt = await findAttempt(store, rolloutId, attemptId);
        if (attempt === null || !isTerminalAttemptStatus(attempt.status)) continue;
        calls.endRollout(rolloutId, attemptId, over(`Attempt ${attemptId} is ${attempt.status}`));
      } catch (error) {
        log.warn({ err: error, rolloutId, attemptId }, 'an attempt could not be read');
      }
    }
  }
}

function over(what: string): GatewayError {
  return new GatewayError({
    code: 'CONFLICT',
    httpStatus: 409,
    type: 'conflict_error',
    message: `${what} while the model was answering, so the call was ended`,
    remedy: 'Stop the agent when its rollout ends, such as with the signal of the rollout context.',
    // The official clients send a 409 again by themselves, which would be in vain.
    headers: { 'x-should-retry': 'false' },
  });
}
