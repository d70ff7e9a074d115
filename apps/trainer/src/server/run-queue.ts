import { setImmediate } from 'node:timers/promises';
import { AgentLightningError, type Run } from '@agentlightning/core';
import { unfinishedRunStatuses } from '@agentlightning/core/protocol';
import type { RunStatus } from '@agentlightning/core/store';
import { RunJob, type RunServices } from './run-job.ts';
import { RunLog } from './run-log.ts';
import type { RunSlot, RunSlots } from './run-slots.ts';

/** A part of the list of runs. */
export interface RunPage {
  readonly limit: number;
  readonly offset: number;
}

/** Runs that are read at a time. */
const runsPerPage = 100;

/** The most queued runs of a project. */
const maxQueued = 1000;

/** Trains the queued runs of a project in order, as many at a time as it gets slots. Their statuses are in the store. */
export class RunQueue {
  readonly #services: RunServices;
  readonly #slots: RunSlots;
  readonly #project: string;
  readonly #logs = new Map<string, RunLog>();
  readonly #closing = new AbortController();
  #queued: string[] = [];
  /** Whether runs of the store are runs of this server, by id. */
  readonly #isKnown = new Map<string, boolean>();
  /** The runs that this queue works on, also between two of their processes. */
  readonly #jobs = new Map<string, RunJob>();
  #wake: () => void = () => undefined;
  #worked: Promise<void> = Promise.resolve();

  constructor(services: RunServices, { slots, project }: { readonly slots: RunSlots; readonly project: string }) {
    this.#services = services;
    this.#slots = slots;
    this.#project = project;
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

  /** The runs of this project, newest first. @param page - all by default */
  async runs({ limit, offset }: RunPage = { limit: Number.POSITIVE_INFINITY, offset: 0 }): Promise<readonly Run[]> {
    const found: Run[] = [];
    for (let read = 0; found.length < offset + limit; read += runsPerPage) {
      const { items } = await this.#services.store.queryRuns({ limit: runsPerPage, offset: read });
      for (const run of items) if (await this.#isServerRun(run.runId)) found.push(run);
      if (items.length < runsPerPage) break;
      await setImmediate();
    }
    return found.slice(offset, offset + limit);
  }

  /** A run of the store never becomes one of the server, and stays one. */
  async #isServerRun(runId: string): Promise<boolean> {
    const known = this.#isKnown.get(runId) ?? (await this.#services.folder.hasRequest(runId));
    this.#isKnown.set(runId, known);
    return known;
  }

  /** @throws AgentLightningError RESOURCE_EXHAUSTED when too many runs wait */
  assertSpace(): void {
    if (this.#queued.length < maxQueued) return;
    throw new AgentLightningError({
      code: 'RESOURCE_EXHAUSTED',
      message: `${this.#queued.length} runs of the project are queued`,
      remedy: 'Create the run when some of them have ended, or stop some.',
    });
  }

  /** The events of a run. */
  log(runId: string): RunLog {
    const log = this.#logs.get(runId) ?? new RunLog(this.#services.folder.eventFile(runId));
    this.#logs.set(runId, log);
    return log;
  }

  /** The number of runs of the project before this one, from 0; null when it does not wait. */
  position(runId: string): number | null {
    const index = this.#queued.indexOf(runId);
    return index < 0 ? null : index + this.#jobs.size;
  }

  /** Queues a new or ended run; no effect on others. The process of an ended run may still be closing. */
  async add({ runId, status }: Pick<Run, 'runId' | 'status'>): Promise<void> {
    const isUnfinished = unfinishedRunStatuses.includes(status);
    if (this.#queued.includes(runId) || (isUnfinished && this.isActive(runId))) return;
    await this.#setStatus(runId, 'queued');
    this.#queued.push(runId);
    await this.log(runId).append({ type: 'queued', runId });
    this.#wake();
  }

  /** Stops a run: a queued one at once, an active one after its current operation. No effect on ended runs. */
  async stop(runId: string): Promise<void> {
    if (this.#queued.includes(runId)) {
      this.#queued = this.#queued.filter((queued) => queued !== runId);
      await this.#setStatus(runId, 'stopped');
      await this.log(runId).append({ type: 'stopped', runId });
    } else await this.#jobs.get(runId)?.stop();
  }

  /**
   * Stops the active runs, which are queued again for the next start of the server.
   *
   * @param drainMs - how long they may finish their current operation, in milliseconds
   */
  async close(drainMs: number): Promise<void> {
    this.#closing.abort();
    this.#wake();
    const jobs = [...this.#jobs.values()];
    for (const job of jobs) job.interrupt();
    const late = setTimeout(() => {
      for (const job of jobs) job.kill();
    }, drainMs);
    await Promise.all([this.#worked, ...jobs.map(({ done }) => done)]);
    clearTimeout(late);
    for (const log of this.#logs.values()) log.wake();
  }

  /** Whether this queue works on a run. */
  isActive(runId: string): boolean {
    return this.#jobs.has(runId);
  }

  async #work(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      if (this.#next() === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          if (this.#next() !== undefined || signal.aborted) resolve();
        });
        continue;
      }
      let job: RunJob | null = null;
      const slot = await this.#slots.take({ project: this.#project, onYield: () => job?.yield(), signal });
      if (slot === null) return;
      // The run that was next may have been stopped meanwhile.
      const runId = this.#next();
      if (runId === undefined) slot.release();
      else job = this.#start(runId, slot);
    }
  }

  /** The first queued run whose last process has ended. */
  #next(): string | undefined {
    return this.#queued.find((runId) => !this.#jobs.has(runId));
  }

  #start(runId: string, slot: RunSlot): RunJob {
    this.#queued = this.#queued.filter((queued) => queued !== runId);
    const events = this.log(runId);
    const job = new RunJob({ services: this.#services, runId, events, slot, closing: this.#closing.signal });
    this.#jobs.set(runId, job);
    void job.done.then((isQueuedAgain) => {
      this.#jobs.delete(runId);
      if (isQueuedAgain) this.#queued.push(runId);
      slot.release();
      events.wake();
      this.#wake();
    });
    return job;
  }

  async #setStatus(runId: string, status: RunStatus): Promise<void> {
    await this.#services.store.updateRun(runId, { status });
  }
}
