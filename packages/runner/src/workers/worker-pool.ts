import { AgentLightningError, type Clock, type JsonObject, type Store } from '@agentlightning/core';
import { backoffMs, errorMessage, systemClock } from '@agentlightning/core/internal';
import type { AttemptTokenRequest } from '@agentlightning/core/protocol';
import type { RunnerStore } from '../runner-store.ts';
import { ClaimBudget } from './claim-budget.ts';
import { CrashSuspects } from './crash-suspects.ts';
import { endAttempts } from './end-attempts.ts';
import { type CrashCause, findCrashCause } from './find-crash-cause.ts';
import { lastOutput } from './output-tail.ts';
import { Registration } from './registration.ts';
import { type WorkerEnd, WorkerProcess, type WorkerProgram } from './worker-process.ts';

/** Options of a pool of worker processes. */
export interface WorkerPoolOptions {
  /** The program of each process. */
  readonly program: WorkerProgram;
  /** The store of rollouts and workers. */
  readonly store: RunnerStore & Pick<Store, 'updateWorker'>;
  /** Creates the token of an attempt, as for a runner. @default none: agents use the key of their endpoint */
  readonly createAttemptToken?: ((request: AttemptTokenRequest) => Promise<string>) | undefined;
  /** The number of processes, at least 1. */
  readonly workers: number;
  /** The number of concurrent rollouts, of all processes together. */
  readonly concurrency: number;
  /** The id of the pool in the store, where it is one worker. */
  readonly workerId: string;
  /**
   * Heartbeat timeout, in milliseconds, after which the store returns the pool's attempts to the queue. Longer than the
   * event loop of this process may be blocked. @default 8000
   */
  readonly leaseMs?: number;
  /** Recorded with the worker in the store, besides the load. @default {} */
  readonly statistics?: JsonObject;
  /** The base URL of the gateway for agents. @default that of the endpoint */
  readonly gatewayUrl?: string | undefined;
  /** Only rollouts of this run; null for any. */
  readonly runId: string | null;
  /** The number of rollouts that the pool claims. @default any */
  readonly maxRollouts?: number | null;
  /** Ends the pool when nothing ran and nothing could be claimed for this long, in milliseconds. @default never */
  readonly idleMs?: number | null;
  /** Called once when `maxRollouts` have ended or `idleMs` is over: stop the pool. */
  readonly onDone?: (reason: 'max-rollouts' | 'idle') => void;
  /** Called with each line that agents write. */
  readonly onOutput: (line: string) => void;
  /** Called with errors outside the outcome of an attempt, such as the end of a process. */
  readonly onError: (error: AgentLightningError) => void;
  /** Called when the pool cannot continue. */
  readonly onFailure: (error: AgentLightningError) => void;
  /** @default systemClock */
  readonly clock?: Clock;
}

const restartBackoff = { baseDelayMs: 100, maxDelayMs: 2000 };

/** Ends in a row of a process without a claimed attempt, after which the pool fails. */
const maxIdleEnds = 5;

/** Additional time for processes to stop after their grace time, in milliseconds. */
const stopTimeoutMs = 500;

/** Time for other attempts of a process whose agent ignores its abort, in milliseconds. */
const drainMs = 0x7fffffff;

const defaultLeaseMs = 8000;

/** Interval of the check whether the pool is done, in milliseconds. */
const doneCheckMs = 100;

/**
 * Runs agents in supervised processes. A process that ends, or whose event loop is blocked beyond the timeout of an attempt,
 * is replaced: the attempt that caused it fails, the others return to the queue. A process with an agent that ignores its
 * abort is replaced too, when its other attempts have ended.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #clock: Clock;
  readonly #suspects = new CrashSuspects();
  readonly #budget: ClaimBudget;
  readonly #stop = new AbortController();
  readonly #processes = new Set<WorkerProcess>();
  /** Processes whose attempts are not yet recorded as ended. */
  readonly #ending = new Set<Promise<unknown>>();
  #slots: readonly Promise<void>[] = [];
  #registration: Registration | null = null;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#budget = new ClaimBudget({ maxRollouts: options.maxRollouts ?? null, clock: this.#clock });
  }

  /** The number of attempts that run. */
  get running(): number {
    return [...this.#processes].reduce((count, { attempts }) => count + attempts.length, 0);
  }

  /** Registers the pool in the store, and starts the processes. */
  start(): void {
    const { workers, concurrency, store, workerId, leaseMs = defaultLeaseMs } = this.#options;
    this.#registration = new Registration({
      store,
      workerId,
      leaseMs,
      statistics: () => this.#statistics(),
      onError: (error) => this.#report('The heartbeat of the worker pool', error),
      clock: this.#clock,
    });
    this.#slots = Array.from({ length: workers }, (_, index) =>
      // The first processes have one more where it does not divide.
      this.#keepSlot(Math.max(1, Math.floor((concurrency + workers - 1 - index) / workers))),
    );
    this.#watchEnd();
  }

  /**
   * Stops the processes, returns the attempts that are still running after the grace time to the queue, and ends the
   * registration. Another call replaces the grace time of the first one.
   *
   * @param graceMs - in milliseconds
   */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort();
    this.#suspects.clear();
    for (const process of this.#processes) process.stop(graceMs);
    const timer = setTimeout(
      () => {
        for (const process of this.#processes) process.kill();
      },
      Math.min(graceMs + stopTimeoutMs, drainMs),
    );
    await Promise.all(this.#slots);
    await Promise.all(this.#ending);
    clearTimeout(timer);
    // The lease expires when the store cannot be reached.
    await this.#registration?.end().catch(() => undefined);
  }

  /** Reports that the pool is done. */
  #watchEnd(): void {
    const { onDone, idleMs = null } = this.#options;
    if (onDone === undefined) return;
    let activeMs = this.#clock.now();
    const check = setInterval(() => {
      if (this.running > 0) activeMs = this.#clock.now();
      const idle = Math.min(this.#budget.idleMs, this.#clock.now() - activeMs);
      const isIdle = idleMs !== null && idle >= idleMs;
      const isDone = this.running === 0 && (isIdle || this.#budget.isExhausted);
      if (!isDone && !this.#stop.signal.aborted) return;
      clearInterval(check);
      if (!this.#stop.signal.aborted) onDone(isIdle ? 'idle' : 'max-rollouts');
    }, doneCheckMs);
  }

  /** The state and load of the pool, as the store records them. */
  #statistics(): JsonObject {
    const { concurrency, workers, statistics = {} } = this.#options;
    const memoryBytes = [...this.#processes].reduce((sum, process) => sum + process.memoryBytes, 0);
    return {
      ...statistics,
      state: this.#stop.signal.aborted ? 'draining' : 'running',
      processes: workers,
      concurrency,
      running: this.running,
      memory_rss_bytes: process.memoryUsage.rss() + memoryBytes,
    };
  }

  async #keepSlot(concurrency: number): Promise<void> {
    let failures = 0;
    let idleEnds = 0;
    let previous: WorkerProcess | null = null;
    while (!this.#stop.signal.aborted) {
      let onStuck = (): void => undefined;
      const stuck = new Promise<null>((resolve) => {
        onStuck = () => resolve(null);
      });
      const process = this.#startProcess(concurrency, () => onStuck());
      await process.loaded;
      previous?.stop(drainMs);
      previous = process;
      process.start();
      if (this.#stop.signal.aborted) process.stop(0);
      const end = await Promise.race([process.ended, stuck]);
      if (this.#stop.signal.aborted) return;
      if (end?.fatal) return this.#options.onFailure(end.fatal);
      failures = process.hasEndedAttempts ? 1 : failures + 1;
      idleEnds = process.hasEndedAttempts || end === null || end.attempts.length > 0 ? 0 : idleEnds + 1;
      if (end !== null && idleEnds >= maxIdleEnds) return this.#options.onFailure(crashLoop(end, idleEnds));
      await this.#clock.sleep(backoffMs(restartBackoff, failures), this.#stop.signal).catch(() => undefined);
    }
  }

  #startProcess(concurrency: number, onStuck: () => void): WorkerProcess {
    const { program, store, workerId, createAttemptToken, runId, gatewayUrl, onOutput, onError } = this.#options;
    const hasAttemptTokens = createAttemptToken !== undefined;
    const process = new WorkerProcess({
      program,
      services: {
        store,
        workerId,
        createAttemptToken,
        suspects: this.#suspects,
        budget: this.#budget,
        runId,
        concurrency,
      },
      settings: { concurrency, runId, hasAttemptTokens, gatewayUrl: gatewayUrl ?? null },
      onOutput,
      onError,
      onStuck: (rolloutId) => {
        onError(ignoredAbort(rolloutId));
        onStuck();
      },
    });
    this.#processes.add(process);
    const recorded = process.ended
      .then((end) => this.#onEnd(process, end))
      .finally(() => this.#ending.delete(recorded));
    this.#ending.add(recorded);
    return process;
  }

  async #onEnd(process: WorkerProcess, end: WorkerEnd): Promise<void> {
    this.#processes.delete(process);
    const isStopped = this.#stop.signal.aborted || isOrderly(end);
    const cause: CrashCause | null = isStopped || end.fatal !== null ? null : findCrashCause(end, this.#suspects);
    if (cause !== null) this.#options.onError(cause.error);
    await endAttempts(end, cause, {
      store: this.#options.store,
      clock: this.#clock,
      failed: (doing, error) => this.#report(doing, error),
    });
  }

  #report(doing: string, error: unknown): void {
    const reason = errorMessage(error);
    const code = AgentLightningError.isInstance(error) ? error.code : 'INTERNAL';
    this.#options.onError(new AgentLightningError({ code, message: `${doing} failed: ${reason}`, cause: error }));
  }
}

/** Whether a process has ended after a stop. */
function isOrderly({ exitCode, attempts, exitReport }: WorkerEnd): boolean {
  return exitCode === 0 && attempts.length === 0 && exitReport?.attemptId === null;
}

function crashLoop(end: WorkerEnd, count: number): AgentLightningError {
  const how = end.signal === null ? `exit code ${end.exitCode}` : `signal ${end.signal}`;
  return new AgentLightningError({
    code: 'AGENT_CRASHED',
    message: `Worker processes ended ${count} times in a row without a rollout, the last one with ${how}${lastOutput(end.stderr)}`,
  });
}

function ignoredAbort(rolloutId: string): AgentLightningError {
  return new AgentLightningError({
    code: 'TIMEOUT',
    message: `The agent of rollout ${rolloutId} ignores its abort; its process is replaced when its other rollouts have ended`,
    remedy: 'Pass `signal` of the agent context to long operations.',
  });
}
