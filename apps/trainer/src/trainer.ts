import { AgentLightningError, type Store } from '@agentlightning/core';
import { type ResolvedConfig, resolveConfig } from './config/resolve-config.ts';
import type { TrainConfig } from './config/train-config.ts';
import { openSession } from './loop/open-session.ts';
import { trainingLoop } from './loop/training-loop.ts';
import type { TrainingEvent, TrainingListener, TrainingSummary } from './training-event.ts';

/** How to run a training. */
export interface TrainOptions {
  /** Goes on with an interrupted run instead of beginning a new one. */
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
  const emit = options.onEvent ?? ((_event: TrainingEvent): void => undefined);
  const signal = options.signal ?? new AbortController().signal;
  const { session, close } = await openSession({
    config,
    runId: options.runId ?? null,
    resume: options.resume ?? null,
    store: options.store ?? null,
    emit,
    signal,
  });
  emit({
    type: 'started',
    runId: session.run.runId,
    name: session.run.name,
    steps: config.steps,
    firstStep: session.state.finishedStep + 1,
    trainTasks: session.trainTasks.length,
    heldOutTasks: Math.min(session.heldOutTasks.length, config.evaluation.tasks),
    algorithm: session.algorithm.name,
    model: session.model.modelId,
    device: session.capabilities.device,
  });
  try {
    return await trainingLoop(session);
  } catch (error) {
    const status = signal.aborted ? 'stopped' : 'failed';
    await session.store.updateRun(session.run.runId, { status }).catch(() => undefined);
    throw signal.aborted ? stopped(session.run.runId, error) : error;
  } finally {
    await close();
  }
}

function stopped(runId: string, cause: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'CANCELLED',
    message: `run ${runId} was stopped`,
    remedy: `Go on with \`agl train --resume ${runId}\`.`,
    cause,
  });
}
