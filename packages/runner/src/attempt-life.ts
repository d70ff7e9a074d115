import type { AttemptedRollout } from '@agentlightning/core';
import { AttemptAborted } from './attempt-outcome.ts';
import { keepAlive } from './heartbeat.ts';
import type { AttemptOptions } from './runner-options.ts';
import type { RunnerServices } from './runner-services.ts';
import { after } from './time-limit.ts';

/** What an attempt's life depends on. */
export interface AttemptLifeOptions {
  readonly rollout: AttemptedRollout;
  readonly options: Pick<AttemptOptions<never>, 'store' | 'timeoutMs' | 'heartbeatMs'>;
  readonly services: RunnerServices;
  /** Aborts when the runner stops and waits no longer. */
  readonly hardStop: AbortSignal;
}

/** From the start of an attempt to its end: heartbeats, and what may end it before its agent does. */
export class AttemptLife implements Disposable {
  readonly #work: AbortController = new AbortController();
  readonly #beats: AbortController = new AbortController();
  readonly #aborted: Promise<never>;
  readonly #cancel: (() => void)[] = [];
  #abortIfLate: () => void = () => {};

  constructor({ rollout, options, services, hardStop }: AttemptLifeOptions) {
    const { signal } = this.#work;
    this.#aborted = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // Nobody may be waiting when it happens.
    this.#aborted.catch(() => {});
    const { clock } = services;
    const timeoutMs = rollout.config.timeoutMs ?? options.timeoutMs ?? null;
    if (timeoutMs !== null) {
      const onTimeout = (): void => this.#work.abort(AttemptAborted.timeout(timeoutMs));
      this.#cancel.push(after(timeoutMs, clock, onTimeout).cancel);
      const deadlineMs = clock.now() + timeoutMs;
      this.#abortIfLate = () => {
        if (clock.now() > deadlineMs) onTimeout();
      };
    }
    const onHardStop = (): void => this.#work.abort(AttemptAborted.returned());
    hardStop.addEventListener('abort', onHardStop, { once: true });
    this.#cancel.push(() => hardStop.removeEventListener('abort', onHardStop));
    if (hardStop.aborted) onHardStop();
    void keepAlive({
      store: options.store,
      clock: services.clock,
      rollout,
      intervalMs: options.heartbeatMs ?? 10_000,
      signal: this.#beats.signal,
      onOver: (reason) => this.#work.abort(reason),
      onFailure: (error) => services.failed(`The heartbeat of attempt ${rollout.attempt.attemptId}`, error),
    });
  }

  /** For the agent: aborts when it should stop. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }

  /** The work's result, unless the attempt is ended first: then it throws why. The work itself continues. */
  async orEnd<TResult>(work: Promise<TResult>): Promise<TResult> {
    const result = await Promise.race([this.#aborted, work]);
    // An agent that blocks the event loop also blocks the timer of its time limit.
    this.#abortIfLate();
    this.signal.throwIfAborted();
    return result;
  }

  /** Ends heartbeats and timers. */
  [Symbol.dispose](): void {
    this.#beats.abort();
    for (const cancel of this.#cancel) cancel();
  }
}
