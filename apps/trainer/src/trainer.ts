import { AgentLightningError, type RunStatus, type Store } from '@agentlightning/core';
import { type ResolvedConfig, resolveConfig } from './config/resolve-config.ts';
import type { TrainConfig } from './config/train-config.ts';
import { type Closer, type OpenRun, openRun, openSession, type SessionOptions } from './loop/open-session.ts';
import { trainedPolicies } from './loop/session-policies.ts';
import { summariseRun } from './loop/summarise-run.ts';
import { trainingLoop } from './loop/training-loop.ts';
import type { TrainingSession } from './loop/training-session.ts';
import type { TrainingEvent, TrainingListener, TrainingSummary } from './training-event.ts';

/** How to run a training. */
export interface TrainOptions {
  /** Goes on with an interrupted run instead of beginning a new one; of a finished run, tells the outcome again. */
  readonly resume?: string;
  /** The id of a new run, also the model's name in the runtime; `[A-Za-z0-9_-]{1,64}`. @default a random one */
  readonly runId?: string;
  /** A store that is open already, instead of the configured one; it stays open. */
  readonly store?: Store;
  /** Told everything that happens. */
  readonly onEvent?: TrainingListener;
  /** Stops after the work under way; the run can be resumed. */
  readonly signal?: AbortSignal;
}

/**
 * Trains an agent: opens store, gateway, runner and runtime, and runs the training loop.
 *
 * @example
 * ```ts
 * const trainer = new Trainer({ agent: stockClerk, tasks: { train, test }, steps: 20 });
 * const summary = await trainer.train({ onEvent: (event) => console.log(event.type) });
 * console.log(summary.before.reward, '->', summary.after.reward);
 * ```
 */
export class Trainer<TTask = unknown> {
  readonly #config: ResolvedConfig;

  /**
   * @param config - what to train, with defaults as documented at {@link TrainConfig}
   * @throws AgentLightningError CONFIG when a key or value is wrong
   */
  constructor(config: TrainConfig<TTask>) {
    this.#config = resolveConfig(config, process.cwd());
  }

  /**
   * Trains until the configured steps are done.
   *
   * @throws AgentLightningError when the run cannot go on; nothing finished is lost, and `resume` goes on
   */
  train(options: TrainOptions = {}): Promise<TrainingSummary> {
    return trainWith(this.#config, options);
  }
}

/** Trains with a configuration that is resolved already; what the `agl` command calls. */
export async function trainWith(config: ResolvedConfig, options: TrainOptions = {}): Promise<TrainingSummary> {
  const closers: Closer[] = [];
  const sessionOptions: SessionOptions = {
    config,
    runId: options.runId ?? null,
    resume: options.resume ?? null,
    store: options.store ?? null,
    emit: options.onEvent ?? ((_event: TrainingEvent): void => undefined),
    signal: options.signal ?? new AbortController().signal,
    onOpen: (close) => closers.unshift(close),
  };
  const summary = await trainThenClose(sessionOptions, closers);
  // The last thing that is said: nothing of the run is open any more.
  sessionOptions.emit({ type: 'finished', summary });
  return summary;
}

async function trainThenClose(options: SessionOptions, closers: readonly Closer[]): Promise<TrainingSummary> {
  let run: OpenRun | null = null;
  try {
    run = await openRun(options);
    if (run.run.status === 'finished') return summaryOfFinished(run, options);
    const session = await openSession(run, options);
    options.emit(startedEvent(session));
    return await trainingLoop(session);
  } catch (error) {
    const isStopped = options.signal.aborted;
    if (run !== null) await leaveRun(run, isStopped ? 'stopped' : 'failed');
    throw isStopped && run !== null ? stopped(run.run.runId, error) : error;
  } finally {
    for (const close of closers) await closeQuietly(close, options);
  }
}

/** The trainer that finished the run may have died before it could say so; then it is said now. */
function summaryOfFinished({ run, state }: OpenRun, { config }: SessionOptions): TrainingSummary {
  const seconds = (run.updateTimeMs - run.createTimeMs) / 1000;
  return summariseRun({ run, state, storeUrl: config.storeUrl, seconds });
}

/** Says in the store how the run was left, unless another trainer has it. */
async function leaveRun({ store, run, lease }: OpenRun, status: RunStatus): Promise<void> {
  try {
    await lease.renew();
    await store.updateRun(run.runId, { status });
  } catch {
    // How the run ended is worth more than this: a store that is gone is not told.
  }
}

/** Whatever goes wrong when one thing is closed, the others must be closed too, and the run's outcome stands. */
async function closeQuietly(close: Closer, { emit }: SessionOptions): Promise<void> {
  try {
    await close();
  } catch (error) {
    emit({
      type: 'warning',
      message: `something did not close: ${error instanceof Error ? error.message : String(error)}`,
    });
  }
}

function startedEvent({ config, run, state, ...session }: TrainingSession): TrainingEvent {
  return {
    type: 'started',
    runId: run.runId,
    name: run.name,
    steps: config.steps,
    firstStep: state.finishedStep + 1,
    trainTasks: session.tasks.train.length,
    heldOutTasks: Math.min(session.tasks.heldOut.length, config.evaluation.tasks),
    algorithm: [...new Set(trainedPolicies(session.policies).map(({ learner }) => learner.name))].join(', '),
    model: session.policies.map(({ model }) => model.modelId).join(', '),
    device: session.capabilities.device,
  };
}

function stopped(runId: string, cause: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'CANCELLED',
    message: `run ${runId} was stopped`,
    remedy: `Go on with \`agl train --resume ${runId}\`.`,
    cause,
  });
}
