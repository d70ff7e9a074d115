import { AgentLightningError, type Clock, type JsonObject, type Run } from '@agentlightning/core';
import { type RunStatus, unfinishedRunStatuses } from '@agentlightning/core/store';
import type { Upstream } from '@agentlightning/gateway';
import type { SqlStore } from '@agentlightning/store';
import type { pino } from 'pino';
import type { RunSettings } from './run-config.ts';
import { RunLog } from './run-log.ts';
import type { RunError } from './run-messages.ts';
import { RunProcess } from './run-process.ts';
import { readRunRequest } from './run-request.ts';
import type { ServerFolder } from './server-folder.ts';

/** Options of a {@link RunQueue}. */
export interface RunQueueOptions {
  readonly store: SqlStore;
  readonly folder: ServerFolder;
  /** The configuration of a run, with the current address of the runtime. */
  readonly settingsOf: (runId: string) => Promise<RunSettings>;
  /** Registers the upstreams of the current run at the gateway. */
  readonly onUpstreams: (runId: string, upstreams: readonly Upstream[]) => void;
  readonly log: pino.Logger;
  readonly clock: Clock;
}

/** How many times in a row a run is started again after its process or its runtime was lost. */
const maxRestarts = 3;

const restartDelayMs = 1000;

/** Trains the queued runs of a server in order, each in its own process. Their statuses are in the store. */
export class RunQueue {
  readonly #options: RunQueueOptions;
  readonly #logs = new Map<string, RunLog>();
  readonly #closing = new AbortController();
  #queued: string[] = [];
  #process: RunProcess | null = null;
  /** The run that this queue works on, also between two of its processes. */
  #active: string | null = null;
  /** Whether the stop of the active run was requested. */
  #isStopping = false;
  #wake: () => void = () => undefined;
  #worked: Promise<void> = Promise.resolve();

  constructor(options: RunQueueOptions) {
    this.#options = options;
  }

  /** Queues the runs that were unfinished when the server ended, in order of their creation, and starts the first. */
  async start(): Promise<void> {
    for (const run of (await this.runs()).toReversed()) {
      if (run.status === 'stopping') await this.#setStatus(run.runId, 'stopped');
      if (run.status === 'running') await this.#setStatus(run.runId, 'queued');
      if (run.status === 'running' || run.status === 'queued') this.#queued.push(run.runId);
    }
    this.#worked = this.#work();
  }

  /** The runs of this server, newest first. */
  async runs(): Promise<readonly Run[]> {
    const { store, folder } = this.#options;
    const { items } = await store.queryRuns();
    const requests = await Promise.all(items.map(({ runId }) => readRunRequest(folder, runId).catch(() => null)));
    return items.filter((_, index) => requests[index] !== null);
  }

  /** The events of a run. */
  log(runId: string): RunLog {
    const log = this.#logs.get(runId) ?? new RunLog(this.#options.folder.eventFile(runId));
    this.#logs.set(runId, log);
    return log;
  }

  /** The number of runs before this one, from 0; null when it does not wait. */
  position(runId: string): number | null {
    const index = this.#queued.indexOf(runId);
    return index < 0 ? null : index + (this.#active === null ? 0 : 1);
  }

  /** Queues a new or ended run; no effect on others. The process of an ended run may still be closing. */
  async add({ runId, status }: Pick<Run, 'runId' | 'status'>): Promise<void> {
    const isUnfinished = unfinishedRunStatuses.includes(status);
    if (this.#queued.includes(runId) || (isUnfinished && this.isActive(runId))) return;
    await this.#setStatus(runId, 'queued');
    this.#queued.push(runId);
    await this.log(runId).append({ event: 'queued', run: runId });
    this.#wake();
  }

  /** Stops a run: a queued one at once, the current one after its current operation. No effect on ended runs. */
  async stop(runId: string): Promise<void> {
    if (this.#queued.includes(runId)) {
      this.#queued = this.#queued.filter((queued) => queued !== runId);
      await this.#end(runId, 'stopped', { event: 'stopped', run: runId });
    } else if (this.isActive(runId) && !this.#isStopping) {
      this.#isStopping = true;
      await this.#setStatus(runId, 'stopping');
      this.#process?.stop();
    }
  }

  /**
   * Stops the current run, which is queued again for the next start of the server.
   *
   * @param drainMs - how long it may finish its current operation, in milliseconds
   */
  async close(drainMs: number): Promise<void> {
    this.#closing.abort();
    this.#wake();
    this.#process?.stop();
    const late = setTimeout(() => this.#process?.kill(), drainMs);
    await this.#worked;
    clearTimeout(late);
    for (const log of this.#logs.values()) log.wake();
  }

  /** Whether this queue works on a run. */
  isActive(runId: string): boolean {
    return this.#active === runId;
  }

  async #work(): Promise<void> {
    const { log } = this.#options;
    while (!this.#closing.signal.aborted) {
      const runId = this.#queued.shift();
      if (runId === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          if (this.#queued.length > 0 || this.#closing.signal.aborted) resolve();
        });
        continue;
      }
      this.#active = runId;
      this.#isStopping = false;
      await this.#train(runId).catch((error: unknown) =>
        log.error({ err: error, run: runId }, 'run could not be recorded'),
      );
      this.#active = null;
      this.log(runId).wake();
    }
  }

  /** Trains a run, and starts it again after its process or its runtime was lost. */
  async #train(runId: string): Promise<void> {
    const { log, clock } = this.#options;
    for (let restarts = 0; ; restarts += 1) {
      log.info({ run: runId, restarts }, 'run starts');
      if (restarts === 0) await this.#setStatus(runId, 'running');
      const error = await this.#runOnce(runId);
      if (error === null) {
        // A request to stop that came too late has replaced it.
        await this.#setStatus(runId, 'finished');
        log.info({ run: runId }, 'run has finished');
        return;
      }
      if (this.#isStopping) return await this.#end(runId, 'stopped', { event: 'stopped', run: runId });
      if (this.#closing.signal.aborted) return await this.#setStatus(runId, 'queued');
      log.warn({ run: runId, code: error.code, restarts }, error.message);
      if (!isLost(error) || restarts >= maxRestarts) {
        return await this.#end(runId, 'failed', { event: 'failed', run: runId, ...error });
      }
      await this.log(runId).append({ event: 'warning', message: `${error.message}; the run starts again` });
      await clock.sleep(restartDelayMs, this.#closing.signal).catch(() => undefined);
    }
  }

  async #runOnce(runId: string): Promise<RunError | null> {
    const { settingsOf, folder, onUpstreams } = this.#options;
    let settings: RunSettings;
    try {
      settings = await settingsOf(runId);
    } catch (error) {
      return runErrorOf(error);
    }
    const process = new RunProcess({
      runId,
      settings,
      logFile: folder.logFile(runId),
      onEvent: (event) => void this.log(runId).append(event),
      onUpstreams: (upstreams) => onUpstreams(runId, upstreams),
    });
    this.#process = process;
    if (this.#isStopping || this.#closing.signal.aborted) process.stop();
    const error = await process.ended;
    this.#process = null;
    return error;
  }

  async #end(runId: string, status: RunStatus, event: JsonObject): Promise<void> {
    await this.#setStatus(runId, status);
    await this.log(runId).append(event);
  }

  async #setStatus(runId: string, status: RunStatus): Promise<void> {
    await this.#options.store.updateRun(runId, { status });
  }
}

/** Whether a run may succeed when it is started again. */
function isLost({ code }: RunError): boolean {
  return code === 'RUNTIME_UNAVAILABLE' || code === 'INTERNAL';
}

function runErrorOf(cause: unknown): RunError {
  if (!AgentLightningError.isInstance(cause)) return { code: 'INTERNAL', message: String(cause), remedy: '' };
  return { code: cause.code, message: cause.message.replace(/^\[\w+\] /, ''), remedy: cause.remedy };
}
