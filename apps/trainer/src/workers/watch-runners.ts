import { AgentLightningError, type Clock, type RolloutStatus, type Run, type Store } from '@agentlightning/core';
import { addressText, systemClock } from '@agentlightning/core/internal';
import { readRunner, storeTimeOf, trainerWorkerPrefix } from '@agentlightning/core/protocol';
import type { Worker } from '@agentlightning/core/store';
import type { ServiceListener } from '../events/training-listener.ts';

/** Options of {@link watchRunners}. */
export interface WatchRunnersOptions {
  readonly store: Pick<Store, 'queryWorkers' | 'queryRollouts'>;
  /** Its address, for messages. */
  readonly storeUrl: string;
  readonly run: Pick<Run, 'runId'>;
  /** Maximum wait of the run for a runner, in milliseconds. */
  readonly timeoutMs: number;
  readonly emit: ServiceListener;
  /** Called when no runner has come in time. */
  readonly onFailure: (error: AgentLightningError) => void;
  /** @default systemClock */
  readonly clock?: Clock;
}

/** The time between two checks, in milliseconds. */
const intervalMs = 1000;

/** Period in which a runner must claim one of the rollouts that wait, in milliseconds. */
const claimMs = 30_000;

/**
 * Time for which an unregistered runner counts after its last activity, in milliseconds: longer than the wait of a claim.
 */
const activeMs = 30_000;

/**
 * Reports the number of remote runners of a run, and warns while no runner is registered.
 *
 * @returns a function that stops the watch
 */
export function watchRunners(options: WatchRunnersOptions): () => Promise<void> {
  const { clock = systemClock } = options;
  const stopped = new AbortController();
  const watch = new RunnerWatch(options, clock);
  const rounds = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      // The health watch reports an unavailable store.
      await watch.check().catch(() => undefined);
      await clock.sleep(intervalMs, stopped.signal).catch(() => undefined);
    }
  };
  const ended = rounds();
  return async () => {
    stopped.abort();
    await ended;
  };
}

class RunnerWatch {
  readonly #options: WatchRunnersOptions;
  readonly #clock: Clock;
  #reported: number | null = null;
  #seenMs: number;
  /** The state of unregistered workers, and when it last changed. */
  #others: { readonly state: string; readonly changedMs: number } | null = null;

  /** Since when rollouts wait and none is claimed; null while that is not so. */
  #unclaimedSinceMs: number | null = null;

  constructor(options: WatchRunnersOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#seenMs = clock.now();
  }

  async check(): Promise<void> {
    const { store, emit } = this.#options;
    const { items } = await store.queryWorkers();
    const nowMs = this.#clock.now();
    const registered = this.#registered(items);
    // The number of others is unknown.
    const seen = this.#areOthersActive(items, nowMs) ? Math.max(1, registered) : registered;
    // Runners that claim nothing do not train the run.
    const runners = seen > 0 && (await this.#isUnclaimed(nowMs)) ? 0 : seen;
    if (runners > 0) this.#seenMs = nowMs;
    else if (nowMs - this.#seenMs >= this.#options.timeoutMs) await this.#giveUp();
    if (runners === this.#reported) return;
    this.#reported = runners;
    emit({ type: 'runners', runners });
    if (this.#seenMs !== nowMs) emit({ type: 'warning', message: this.#missing() });
  }

  #registered(workers: readonly Worker[]): number {
    const { runId } = this.#options.run;
    const storeTimeMs = storeTimeOf(workers, this.#clock.now());
    return workers.filter((worker) => {
      const runner = readRunner(worker, storeTimeMs);
      return runner !== null && runner.state !== 'lost' && (runner.runId === null || runner.runId === runId);
    }).length;
  }

  /** Whether rollouts have waited for too long without one that is claimed. */
  async #isUnclaimed(nowMs: number): Promise<boolean> {
    const isAny = async (...statusIn: readonly RolloutStatus[]): Promise<boolean> =>
      (await store.queryRollouts({ runId: run.runId, statusIn, limit: 1 })).total > 0;
    const { store, run } = this.#options;
    const isWaiting = (await isAny('queuing', 'requeuing')) && !(await isAny('preparing', 'running'));
    this.#unclaimedSinceMs = isWaiting ? (this.#unclaimedSinceMs ?? nowMs) : null;
    return this.#unclaimedSinceMs !== null && nowMs - this.#unclaimedSinceMs >= claimMs;
  }

  /** Whether a runner that does not register, such as one of the Python client, has been active. */
  #areOthersActive(workers: readonly Worker[], nowMs: number): boolean {
    const isOther = ({ workerId, heartbeatStats }: Worker): boolean =>
      !['runner', 'gateway'].includes(String(heartbeatStats?.['kind'])) && !workerId.startsWith(trainerWorkerPrefix);
    const state = JSON.stringify(workers.filter(isOther));
    if (this.#others === null) this.#others = { state, changedMs: Number.NEGATIVE_INFINITY };
    else if (this.#others.state !== state) this.#others = { state, changedMs: nowMs };
    return nowMs - this.#others.changedMs < activeMs;
  }

  #missing(): string {
    const { storeUrl, run, timeoutMs } = this.#options;
    const command = `agl runner --store ${addressText(storeUrl)} --run ${run.runId} --agent <file>`;
    return `no runner is there: rollouts of run ${run.runId} wait for one, at most ${timeoutMs / 1000} s. Start one with: ${command}`;
  }

  async #giveUp(): Promise<void> {
    const { store, run, timeoutMs, onFailure } = this.#options;
    // A runner without an id.
    const open = await store.queryRollouts({ runId: run.runId, statusIn: ['preparing', 'running'], limit: 1 });
    if (open.total > 0) return;
    onFailure(
      new AgentLightningError({
        code: 'UNREACHABLE',
        message: `no runner for run ${run.runId} has come within ${timeoutMs / 1000} s`,
        remedy: 'Start one with `agl runner`, then resume with `agl train --resume <run>`.',
      }),
    );
  }
}
