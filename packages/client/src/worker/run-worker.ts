import { hostname } from 'node:os';
import process from 'node:process';
import type { AgentLightningError, JsonObject, JsonValue } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { newId } from '@agentlightning/core/store';
import type { StoreClient } from '@agentlightning/core/store-client';
import { type Agent, type OutputScoring, runRollouts } from '@agentlightning/runner';
import { Registration } from '@agentlightning/runner/internal';
import { clientVersion } from '../client-version.ts';

/** Options of a {@link RunWorker}. */
export interface RunWorkerOptions<TTask> {
  readonly store: StoreClient;
  /** The URL of the server, without a path. */
  readonly url: string;
  readonly runId: string;
  readonly agent: Agent<TTask, unknown>;
  readonly reward: OutputScoring | undefined;
  /** Number of concurrent rollouts. */
  readonly concurrency: number;
  readonly parseTask?: ((input: JsonValue) => TTask) | undefined;
  readonly onError: (error: AgentLightningError) => void;
}

/** Heartbeat timeout, in milliseconds, after which the server returns the rollouts of the client to the queue. */
const leaseMs = 8000;

/** Grace period for running agents at the end of the run, in milliseconds. */
const graceMs = 2000;

/** Runs the agent on the rollouts of a run in this process, registered at the server with a lease. */
export class RunWorker<TTask> {
  readonly #stop = new AbortController();
  readonly #registration: Registration;
  readonly #done: Promise<unknown>;

  /** Starts to claim rollouts. */
  constructor({ store, url, runId, agent, reward, concurrency, parseTask, onError }: RunWorkerOptions<TTask>) {
    const workerId = newId('worker');
    this.#registration = new Registration({
      store,
      workerId,
      leaseMs,
      statistics: () => statisticsOf({ runId, concurrency, isStopping: this.#stop.signal.aborted }),
      onError: () => undefined,
      clock: systemClock,
    });
    const run = (): Promise<unknown> =>
      runRollouts<TTask>({
        store,
        agent,
        runId,
        // All slots share the registered id.
        concurrency: 1,
        workerId,
        graceMs,
        gatewayUrl: `${url}/v1`,
        createAttemptToken: (request) => store.createAttemptToken(request),
        signal: this.#stop.signal,
        events: { onError },
        ...(reward === undefined ? {} : { reward }),
        ...(parseTask === undefined ? {} : { parseTask }),
      });
    this.#done = Promise.all(Array.from({ length: concurrency }, run)).catch(onError);
  }

  /** Stops claiming, waits for running agents, and leaves the server. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
    // The lease expires when the server cannot be reached.
    await this.#registration.end().catch(() => undefined);
  }
}

function statisticsOf(worker: {
  readonly runId: string;
  readonly concurrency: number;
  readonly isStopping: boolean;
}): JsonObject {
  return {
    kind: 'runner',
    version: clientVersion,
    host: hostname(),
    pid: process.pid,
    run_id: worker.runId,
    state: worker.isStopping ? 'draining' : 'running',
    running: worker.isStopping ? 0 : worker.concurrency,
    concurrency: worker.concurrency,
    processes: 1,
    memory_rss_bytes: process.memoryUsage().rss,
  };
}
