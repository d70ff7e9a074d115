import { systemClock, traceActivity } from '@agentlightning/core/internal';
import type { AttemptTokenRequest } from '@agentlightning/core/protocol';
import { type AttemptedRollout, type ClaimOptions, isTerminalAttemptStatus } from '@agentlightning/core/store';
import { returnToQueue } from '../report-ending.ts';
import type { RunnerStore } from '../runner-store.ts';
import type { ClaimBudget } from './claim-budget.ts';
import type { CrashSuspects } from './crash-suspects.ts';
import type { SupervisorCalls, SupervisorMethod } from './worker-messages.ts';
import { WorkerRights } from './worker-rights.ts';

/** An attempt that a worker process runs. */
export interface ClaimedAttempt {
  readonly rollout: AttemptedRollout;
  /** Deadline in Unix milliseconds; null without a timeout. */
  readonly deadlineMs: number | null;
  /** Ends its activity. */
  readonly end: (outcome: string) => void;
}

/** Dependencies of the requests of worker processes. */
export interface WorkerServices {
  readonly store: RunnerStore;
  /** The worker in the store, which the attempts of all processes belong to. */
  readonly workerId: string;
  /** Creates the token of an attempt. @default none: attempts have no tokens */
  readonly createAttemptToken?: ((request: AttemptTokenRequest) => Promise<string>) | undefined;
  readonly suspects: CrashSuspects;
  readonly budget: ClaimBudget;
  /** Only rollouts of this run are claimed; null for any. */
  readonly runId: string | null;
  /** Largest number of attempts that the process has at a time. */
  readonly concurrency: number;
}

/**
 * Performs the store requests of a worker process, and keeps account of its attempts: those that it has claimed and not
 * ended. A claim that completes after the end of the process is returned to the queue.
 */
export class ClaimedAttempts {
  readonly #services: WorkerServices;
  readonly #attempts = new Map<string, ClaimedAttempt>();
  readonly #rights = new WorkerRights();
  readonly #inFlight = new Map<number, { readonly done: Promise<unknown>; readonly cancel: AbortController }>();
  #claims = 0;
  #isClosed = false;

  constructor(services: WorkerServices) {
    this.#services = services;
  }

  /** The attempts that are not ended. */
  get all(): readonly ClaimedAttempt[] {
    return [...this.#attempts.values()];
  }

  /** Performs a request. */
  async perform(id: number, method: SupervisorMethod, args: readonly unknown[]): Promise<unknown> {
    const cancel = new AbortController();
    const done = this.#perform(method, args, cancel.signal);
    this.#inFlight.set(id, { done, cancel });
    try {
      return await done;
    } finally {
      this.#inFlight.delete(id);
    }
  }

  /** Ends the wait of a claim. */
  cancel(id: number): void {
    this.#inFlight.get(id)?.cancel.abort();
  }

  /** The worker process has ended the attempt. */
  ended(attemptId: string, outcome = 'ended'): void {
    const attempt = this.#attempts.get(attemptId);
    this.#attempts.delete(attemptId);
    this.#rights.ended(attemptId);
    attempt?.end(outcome);
    if (attempt !== undefined) this.#services.suspects.remove(attempt.rollout.rolloutId);
  }

  /** Ends waits and completes requests in flight, after the end of the process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { cancel } of this.#inFlight.values()) cancel.abort();
    await Promise.allSettled([...this.#inFlight.values()].map(({ done }) => done));
    for (const { end } of this.#attempts.values()) end('process ended');
  }

  async #perform(method: SupervisorMethod, args: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    this.#rights.assertMay(method, args);
    if (method === 'claimRollouts')
      return await this.#claim(args as Parameters<SupervisorCalls['claimRollouts']>, signal);
    const { store, createAttemptToken } = this.#services;
    if (method === 'createAttemptToken') return await createAttemptToken?.(args[0] as AttemptTokenRequest);
    const call = store[method] as (...given: readonly unknown[]) => Promise<unknown>;
    const result = await call.apply(store, [...args]);
    if (method === 'updateAttempt') {
      const [, attemptId, patch] = args as Parameters<SupervisorCalls['updateAttempt']>;
      if (patch.status !== undefined && isTerminalAttemptStatus(patch.status)) this.ended(attemptId, patch.status);
    }
    if (method === 'updateRollout') this.#returned(args as Parameters<SupervisorCalls['updateRollout']>);
    return result;
  }

  async #claim(
    [options]: Parameters<SupervisorCalls['claimRollouts']>,
    signal: AbortSignal,
  ): Promise<readonly AttemptedRollout[]> {
    const { runId, concurrency, workerId } = this.#services;
    // The agent may send claims too; those of the runner are as many as its free slots.
    if (this.#attempts.size + this.#claims >= concurrency) return [];
    const isBusy = (): boolean => this.#attempts.size + this.#claims > 0;
    while (this.#services.suspects.isExclusive && isBusy() && !signal.aborted)
      await this.#services.suspects.change(signal);
    if (signal.aborted) return [];
    this.#claims += 1;
    try {
      const claim = (): Promise<readonly AttemptedRollout[]> =>
        this.#take({
          ...(options?.waitMs === undefined ? {} : { waitMs: options.waitMs }),
          limit: 1,
          ...(runId === null ? {} : { runId }),
          workerId,
          signal,
        });
      return await this.#services.budget.spend(claim, signal);
    } finally {
      this.#claims -= 1;
      this.#services.suspects.notify();
    }
  }

  async #take(options: ClaimOptions): Promise<readonly AttemptedRollout[]> {
    const claimed = await this.#services.store.claimRollouts(options);
    if (this.#isClosed) {
      await Promise.all(claimed.map((rollout) => returnToQueue(this.#services.store, rollout)));
      return [];
    }
    for (const rollout of claimed) {
      const { timeoutMs } = rollout.config;
      const deadlineMs = timeoutMs === null ? null : systemClock.now() + timeoutMs;
      this.#rights.claimed(rollout);
      this.#attempts.set(rollout.attempt.attemptId, { rollout, deadlineMs, end: observeAttempt(rollout) });
    }
    return claimed;
  }

  #returned([rolloutId, { status }]: Parameters<SupervisorCalls['updateRollout']>): void {
    if (status !== 'requeuing') return;
    for (const [attemptId, { rollout, end }] of this.#attempts) {
      if (rollout.rolloutId !== rolloutId) continue;
      this.#attempts.delete(attemptId);
      this.#rights.ended(attemptId);
      end('returned');
    }
    this.#services.suspects.notify();
  }
}

/** Reports an attempt to operational telemetry. @returns a function that ends it */
function observeAttempt({ rolloutId, attempt, mode }: AttemptedRollout): (outcome: string) => void {
  const { promise, resolve } = Promise.withResolvers<string>();
  const ids = { rollout_id: rolloutId, attempt_id: attempt.attemptId, ...(mode === null ? {} : { mode }) };
  void traceActivity('runner.attempt', ids, async (activity) => {
    activity.attributes['outcome'] = await promise;
  });
  return resolve;
}
