import type { Clock } from '@agentlightning/core';
import type { RunEvent, TrainingEvent } from '@agentlightning/core/protocol';
import type { RunStatus } from '@agentlightning/core/store';
import type { Upstream } from '@agentlightning/gateway';
import type { SqlStore } from '@agentlightning/store';
import type { pino } from 'pino';
import type { TrainingMetrics } from '../metrics/training-metrics.ts';
import type { RunSettings } from './run-config.ts';
import type { RunLog } from './run-log.ts';
import { type RunError, runErrorOf } from './run-messages.ts';
import { RunProcess } from './run-process.ts';
import type { RunSlot } from './run-slots.ts';
import type { ServerFolder } from './server-folder.ts';

/** What runs of a project need of the server. */
export interface RunServices {
  readonly store: SqlStore;
  readonly folder: ServerFolder;
  /** The configuration of a run, with the current address of the runtime. */
  readonly settingsOf: (runId: string) => Promise<RunSettings>;
  /** Registers the upstreams of a run at the gateway. */
  readonly onUpstreams: (runId: string, upstreams: readonly Upstream[]) => void;
  readonly metrics: TrainingMetrics;
  readonly log: pino.Logger;
  readonly clock: Clock;
}

/** Options of a {@link RunJob}. */
export interface RunJobOptions {
  readonly services: RunServices;
  readonly runId: string;
  readonly events: RunLog;
  readonly slot: Pick<RunSlot, 'setIdle'>;
  /** Aborted when the server closes: the run is queued for its next start. */
  readonly closing: AbortSignal;
}

/** Maximum number of consecutive restarts of a run after a loss of its process or its runtime. */
const maxRestarts = 3;

/** The restarts of a run without progress between them: a new step, not the repetition of one after the last checkpoint. */
export class RunRestarts {
  #inARow = 0;
  #lastStep = 0;

  /** The restarts since the last progress. */
  get inARow(): number {
    return this.#inARow;
  }

  /** Observes the events of the run. */
  observe(event: TrainingEvent): void {
    if (event.type !== 'stepped' || event.summary.step <= this.#lastStep) return;
    this.#lastStep = event.summary.step;
    this.#inARow = 0;
  }

  /** Begins a restart; false when there were too many. */
  begin(): boolean {
    if (this.#inARow >= maxRestarts) return false;
    this.#inARow += 1;
    return true;
  }
}

const restartDelayMs = 1000;

/** The training of one run, in one process after another. */
export class RunJob {
  /** Resolves when the run has ended: whether it must be queued again, for another project. */
  readonly done: Promise<boolean>;
  readonly #options: RunJobOptions;
  #process: RunProcess | null = null;
  #isStopping = false;
  #isYielding = false;
  readonly #restarts = new RunRestarts();

  /** Starts the run. */
  constructor(options: RunJobOptions) {
    this.#options = options;
    const { services, runId } = options;
    this.done = this.#train().then(
      () => this.#isYielding && !this.#isStopping,
      (error: unknown) => {
        services.log.error({ err: error, run: runId }, 'run could not be recorded');
        return false;
      },
    );
  }

  /** Stops the run after its current operation. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    await this.#setStatus('stopping');
    this.interrupt();
  }

  /** Ends the process for a run of another project; the run continues later. */
  yield(): void {
    this.#isYielding = true;
    this.interrupt();
  }

  /** Ends the process after its current operation. */
  interrupt(): void {
    this.#process?.stop();
  }

  /** Ends the process at once. */
  kill(): void {
    this.#process?.kill();
  }

  /** Trains the run, and starts it again after its process or its runtime was lost. */
  async #train(): Promise<void> {
    const { services, runId, events, closing } = this.#options;
    const { log, clock } = services;
    await this.#setStatus('running');
    for (;;) {
      log.info({ run: runId, restarts: this.#restarts.inARow }, 'run starts');
      const error = await this.#runOnce();
      if (error === null) {
        // A request to stop that came too late has replaced it.
        await this.#setStatus('finished');
        log.info({ run: runId }, 'run has finished');
        this.#isYielding = false;
        return;
      }
      if (this.#isStopping) return await this.#end('stopped', { type: 'stopped', runId });
      if (error.code === 'BUDGET_REACHED') return await this.#pause(error);
      if (closing.aborted) return await this.#setStatus('queued');
      if (this.#isYielding) return await this.#end('queued', { type: 'queued', runId, reason: 'another project' });
      log.warn({ run: runId, code: error.code, restarts: this.#restarts.inARow }, error.message);
      if (!isLost(error) || !this.#restarts.begin()) {
        return await this.#end('failed', { type: 'failed', runId, ...error, resume: null });
      }
      await events.append({ type: 'warning', message: `${error.message}; the run starts again` });
      await clock.sleep(restartDelayMs, closing).catch(() => undefined);
    }
  }

  async #runOnce(): Promise<RunError | null> {
    const { services, runId, events, slot, closing } = this.#options;
    const { settingsOf, folder, onUpstreams, metrics, log } = services;
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
      onEvent: (event) => {
        metrics.onEvent(event);
        this.#restarts.observe(event);
        if (event.type === 'runners') slot.setIdle(event.runners === 0);
        // The run continues without the event, as when the disk is full.
        events
          .append(event)
          .catch((error: unknown) => log.error({ err: error, run: runId }, 'event could not be written'));
      },
      onUpstreams: (upstreams) => onUpstreams(runId, upstreams),
    });
    this.#process = process;
    if (this.#isStopping || this.#isYielding || closing.aborted) process.stop();
    const error = await process.ended;
    metrics.ended();
    this.#process = null;
    return error;
  }

  /** Ends a run that has used its budget; its last step is saved. */
  async #pause({ message }: RunError): Promise<void> {
    const { services, runId } = this.#options;
    services.log.info({ run: runId }, message);
    const remedy = 'Resume it with a larger budget: `run.resume({ budget: … })` of the client.';
    await this.#end('stopped', { type: 'paused', runId, message, remedy });
    this.#isYielding = false;
  }

  async #end(status: RunStatus, event: RunEvent): Promise<void> {
    // First: the reason must not be missing when the server ends now.
    await this.#options.events.append(event);
    await this.#setStatus(status);
  }

  async #setStatus(status: RunStatus): Promise<void> {
    const { services, runId } = this.#options;
    await services.store.updateRun(runId, { status });
  }
}

/** Whether a run may succeed when it is started again. */
function isLost({ code }: RunError): boolean {
  return code === 'RUNTIME_UNAVAILABLE' || code === 'INTERNAL';
}
