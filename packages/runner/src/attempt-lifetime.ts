import type { AttemptedRollout } from '@agentlightning/core/store';
import { AttemptAborted } from './attempt-outcome.ts';
import { keepAlive } from './heartbeat.ts';
import type { ModelCalls } from './model-calls.ts';
import type { AttemptOptions } from './runner-options.ts';
import type { RunnerServices } from './runner-services.ts';
import { after } from './time-limit.ts';

/** Options of {@link AttemptLifetime}. */
export interface AttemptLifetimeOptions {
  readonly rollout: AttemptedRollout;
  readonly options: Pick<AttemptOptions<never>, 'store' | 'timeoutMs' | 'heartbeatMs'>;
  readonly services: RunnerServices;
  readonly modelCalls: ModelCalls;
  /** Aborts when the grace time of a stopped runner is over. */
  readonly hardStop: AbortSignal;
}

/** The lifetime of an attempt: its heartbeats, and the causes that end it before its agent. */
export class AttemptLifetime implements Disposable {
  readonly #work: AbortController = new AbortController();
  readonly #beats: AbortController = new AbortController();
  readonly #aborted: Promise<never>;
  readonly #cancel: (() => void)[] = [];
  #abortIfLate: () => void = () => {};
  #remainingMs: () => number = () => Number.POSITIVE_INFINITY;

  constructor({ rollout, options, services, modelCalls, hardStop }: AttemptLifetimeOptions) {
    const { signal } = this.#work;
    this.#aborted = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // The rejection may occur while nothing awaits it.
    this.#aborted.catch(() => {});
    const { clock } = services;
    const timeoutMs = rollout.config.timeoutMs ?? options.timeoutMs ?? null;
    if (timeoutMs !== null) {
      const onTimeout = (): void => this.#work.abort(AttemptAborted.timeout(timeoutMs, modelCalls.waitMs));
      this.#cancel.push(after(timeoutMs, clock, onTimeout).cancel);
      const deadlineMs = clock.now() + timeoutMs;
      this.#abortIfLate = () => {
        if (clock.now() > deadlineMs) onTimeout();
      };
      this.#remainingMs = () => Math.max(0, deadlineMs - clock.now());
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

  /** Aborts when the agent should stop. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }

  /** Time until the timeout, in milliseconds; infinite without one. */
  get remainingMs(): number {
    return this.#remainingMs();
  }

  /** Returns the result of the work, or throws the reason if the attempt ends first. The work itself continues. */
  async orEnd<TResult>(work: Promise<TResult>): Promise<TResult> {
    const result = await Promise.race([this.#aborted, work]);
    // An agent that blocks the event loop also blocks its timeout.
    this.#abortIfLate();
    this.signal.throwIfAborted();
    return result;
  }

  /** Stops heartbeats and timers. */
  [Symbol.dispose](): void {
    this.#beats.abort();
    for (const cancel of this.#cancel) cancel();
  }
}
