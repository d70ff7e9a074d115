import { ValidationError } from '@agentlightning/core';
import { isTransient, traceActivity } from '@agentlightning/core/internal';
import { type AttemptedRollout, newId } from '@agentlightning/core/store';
import type { AttemptEnding } from './attempt-outcome.ts';
import { reportEnding } from './report-ending.ts';
import { runAttempt } from './run-attempt.ts';
import type { RunnerOptions, RunnerSummary } from './runner-options.ts';
import { RunnerServices } from './runner-services.ts';
import { storeDelayMs } from './store-retry-policy.ts';

import { after } from './time-limit.ts';

/** An empty claim that returns sooner did not wait: the store does not support waiting. */
const minClaimMs = 50;

/** The polling interval for such a store, in milliseconds. */
const pollMs = 250;

/** The waiting time of a claim with `stopWhenIdle`, in milliseconds. */
const idleClaimMs = 100;

/**
 * Claims rollouts and runs the agent on them concurrently, until it is stopped.
 *
 * @example
 * ```ts
 * const runner = new Runner({ store, agent, concurrency: 16, signal });
 * const { succeeded, failed } = await runner.run();
 * ```
 */
export class Runner<TTask = unknown> {
  readonly #options: RunnerOptions<TTask>;
  readonly #services: RunnerServices;
  readonly #stop: AbortController = new AbortController();
  readonly #hardStop: AbortController = new AbortController();
  readonly #counts: Record<AttemptEnding, number> = { succeeded: 0, failed: 0, timeout: 0, cancelled: 0, returned: 0 };
  #running = 0;
  /** Ends the grace time early when nothing is running. */
  #onLastEnd: () => void = () => {};

  /** @throws ValidationError when the concurrency is not a whole number of at least 1 */
  constructor(options: RunnerOptions<TTask>) {
    const { concurrency = 8 } = options;
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      const message = `must be a whole number of at least 1, but is ${concurrency}`;
      throw new ValidationError('the runner', [{ path: 'concurrency', message }]);
    }
    this.#options = options;
    this.#services = new RunnerServices(options);
  }

  /**
   * Runs until it is stopped, or until the queue is empty with `stopWhenIdle`.
   *
   * @throws AgentLightningError when the store rejects the runner: a wrong key, a closed store. Requests to an unreachable
   * store are retried instead
   */
  async run(): Promise<RunnerSummary> {
    const { concurrency = 8, signal } = this.#options;
    const stop = (): void => this.stop();
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) this.stop();
    const workerId = this.#options.workerId ?? newId('worker');
    const slots = Array.from({ length: concurrency }, (_, slot) =>
      this.#work(concurrency === 1 ? workerId : `${workerId}-${slot + 1}`),
    );
    try {
      await Promise.all(slots);
    } finally {
      // A fatal error of one slot stops the others, which finish their attempts.
      if (!this.#stop.signal.aborted) this.stop();
      await Promise.allSettled(slots);
      signal?.removeEventListener('abort', stop);
      await this.#services.sink.flush();
    }
    return { ...this.#counts };
  }

  /**
   * Stops claiming and waits for running attempts; those still running are returned to the queue. Another call replaces the
   * grace time of the first one.
   *
   * @param graceMs - how long to wait, in milliseconds. @default the `graceMs` of the options
   */
  stop(graceMs: number = this.#options.graceMs ?? 30_000): void {
    this.#stop.abort();
    this.#onLastEnd();
    const grace = after(graceMs, this.#services.clock, () => this.#hardStop.abort());
    this.#onLastEnd = grace.cancel;
    if (this.#running === 0) grace.cancel();
  }

  async #work(workerId: string): Promise<void> {
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      try {
        const rollout = await this.#claim(workerId);
        failures = 0;
        if (rollout !== null) await this.#runOne(rollout);
        else if (this.#options.stopWhenIdle && this.#running === 0) return;
      } catch (error) {
        if (!isTransient(error)) throw error;
        failures += 1;
        this.#services.failed('Claiming a rollout', error);
        await this.#pause(storeDelayMs(failures));
      }
    }
  }

  async #claim(workerId: string): Promise<AttemptedRollout | null> {
    const { store, runId, stopWhenIdle, claimWaitMs = 10_000 } = this.#options;
    const { clock } = this.#services;
    const waitMs = stopWhenIdle ? Math.min(claimWaitMs, idleClaimMs) : claimWaitMs;
    const startMs = clock.now();
    const ofRun = runId === undefined ? {} : { runId };
    const [rollout] = await store.claimRollouts({ workerId, limit: 1, waitMs, signal: this.#stop.signal, ...ofRun });
    if (rollout === undefined && clock.now() - startMs < Math.min(minClaimMs, waitMs)) await this.#pause(pollMs);
    return rollout ?? null;
  }

  async #runOne(rollout: AttemptedRollout): Promise<void> {
    const run = {
      rollout,
      options: this.#options,
      services: this.#services,
      hardStop: this.#hardStop.signal,
    };
    if (this.#stop.signal.aborted) {
      // It was claimed during the stop.
      await reportEnding(run, 'returned', null);
      this.#counts.returned += 1;
      return;
    }
    this.#running += 1;
    try {
      const { rolloutId, attempt } = rollout;
      const ids = { rollout_id: rolloutId, attempt_id: attempt.attemptId };
      const { ending } = await traceActivity('runner.attempt', ids, async (activity) => {
        const outcome = await runAttempt(run);
        activity.attributes['outcome'] = outcome.ending;
        return outcome;
      });
      this.#counts[ending] += 1;
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#onLastEnd();
    }
  }

  /** Waits; a stop of the runner ends the wait. */
  async #pause(ms: number): Promise<void> {
    await this.#services.clock.sleep(ms, this.#stop.signal).catch(() => {});
  }
}
