import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import type { NothingLeftEvent, TrainingEvent, TrainingSummary } from '@agentlightning/core/protocol';
import type { RunStatus } from '@agentlightning/core/store';
import type { ResolvedConfig } from './config/resolve-config.ts';
import type { ResolvedPromptSearch } from './config/resolve-prompt-search.ts';
import { isPromptSearch, type ResolvedRun, resolveRun } from './config/resolve-run.ts';
import type { PromptSearchConfig } from './config/sections/prompt-search-config.ts';
import { totalSteps } from './config/stages.ts';
import type { StoredTrainConfig, TrainConfig } from './config/train-config.ts';
import type { DevOptions, DevReport } from './evaluation-run/dev-options.ts';
import { devWith } from './evaluation-run/dev-with.ts';
import type { EvaluateOptions } from './evaluation-run/evaluate-options.ts';
import { evaluateWith } from './evaluation-run/evaluate-with.ts';
import type { EvaluationReport } from './evaluation-run/evaluation-report.ts';
import type { TrainingListener } from './events/training-listener.ts';
import { type FineTuningRuntime, type FineTuningSession, fineTune } from './fine-tuning/fine-tune.ts';
import { summariseRun } from './loop/summarise-run.ts';
import { trainingLoop } from './loop/training-loop.ts';
import { type OpenRun, openRun, openSession, type SessionOptions } from './opening/open-session.ts';
import { type OpenSearch, openSearch, openSearchSession, type SearchOptions } from './prompt-search/open-search.ts';
import { searchLoop } from './prompt-search/search-loop.ts';
import type { SearchSession } from './prompt-search/search-session.ts';
import { summariseSearch } from './prompt-search/summarise-search.ts';
import { Restarts } from './restarts.ts';
import { completionReason } from './run/completion-reason.ts';
import { type RunChoice, reopenRun } from './run/find-or-create-record.ts';
import type { RegisterUpstreams } from './runtime/open-gateway.ts';
import { type Closer, closeAll } from './session/close-all.ts';
import { trainedPolicies } from './session/session-policies.ts';
import type { TrainingSession } from './session/training-session.ts';

/** Options of a run. */
export interface FitOptions {
  /**
   * The id of a run to resume: an interrupted run, or a finished run whose configuration has more steps, another goal or,
   * for a prompt search, other limits. A complete run returns its summary again, after a `nothing-left` event.
   */
  readonly resume?: string;
  /** The id of a new run, also the model's name in the runtime; `[A-Za-z0-9_-]{1,64}`. @default a random id */
  readonly runId?: string;
  /** An open store, instead of the configured one; it is not closed. */
  readonly store?: Store;
  /** Receives the events of the run. */
  readonly onEvent?: TrainingListener;
  /** Stops the run after the current operation; the run can be resumed. */
  readonly signal?: AbortSignal;
}

/**
 * Trains an agent: opens store, gateway, runner and runtime, and runs the training loop.
 *
 * @example
 * ```ts
 * const trainer = new Trainer({ agent: stockClerk, tasks: { train, test }, steps: 20 });
 * const summary = await trainer.fit({ onEvent: (event) => console.log(event.type) });
 * console.log(summary.before.reward, '->', summary.after.reward);
 * ```
 */
export class Trainer<TTask = unknown, TOutput = unknown> {
  readonly #config: ResolvedRun;

  /**
   * @param config - the configuration of a training run or of a prompt search, with the defaults that
   *   {@link TrainConfig} and {@link PromptSearchConfig} document
   * @throws AgentLightningError CONFIG for an unknown key or an invalid value
   */
  constructor(
    config: TrainConfig<TTask, TOutput> | PromptSearchConfig<TTask, TOutput> | StoredTrainConfig<TTask, TOutput>,
  ) {
    this.#config = resolveRun(config, process.cwd());
  }

  /**
   * Trains until the configured steps are finished, or searches prompts until the budget is spent.
   *
   * @throws AgentLightningError when the run fails; `resume` continues after the last finished step
   */
  fit(options: FitOptions = {}): Promise<TrainingSummary> {
    return trainWith(this.#config, options);
  }

  /**
   * Evaluates on the tasks that select the best checkpoint or version: `tasks.validation`; of a training without them,
   * `tasks.test`. At most the first `evaluation.tasks`.
   *
   * @throws AgentLightningError for wrong input, an unavailable service, and when every rollout failed
   */
  validate(options: EvaluateOptions = {}): Promise<EvaluationReport> {
    return evaluateWith(this.#config, { ...options, split: 'validation' });
  }

  /**
   * Evaluates on all of `tasks.test`, or compares two: `agl eval`.
   *
   * @throws AgentLightningError for wrong input, an unavailable service, and when every rollout failed
   *
   * @example
   * ```ts
   * const { comparison } = await trainer.test({ of: `${summary.runId}@best`, against: 'base' });
   * ```
   */
  test(options: EvaluateOptions = {}): Promise<EvaluationReport> {
    return evaluateWith(this.#config, { ...options, split: 'test' });
  }

  /**
   * Runs a few tasks without training, and reports problems that would prevent training on them: `agl dev`.
   *
   * @throws AgentLightningError for wrong input and an unavailable service; failures of the agent are in the report
   */
  dev(options: DevOptions = {}): Promise<DevReport> {
    return devWith(this.#config, options);
  }
}

/** Options of the `agl` command. */
export interface TrainWithOptions extends FitOptions {
  /** Receives the run id once the run is in the store, and can be resumed. */
  readonly onRun?: ((runId: string) => void) | undefined;
  /** Registers the upstreams of the run at its external gateway. @default the operator of the gateway does */
  readonly registerUpstreams?: RegisterUpstreams;
}

/**
 * Runs a training or a prompt search with a resolved configuration; called by the `agl` command. A run whose runtime is lost
 * is resumed from its last checkpoint.
 */
export async function trainWith(config: ResolvedRun, options: TrainWithOptions = {}): Promise<TrainingSummary> {
  const { maxRestarts } = (isPromptSearch(config) ? config.shared : config).limits;
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const listener = options.onEvent ?? ((_event: TrainingEvent): void => undefined);
  const restarts = new Restarts({ maxRestarts, emit: listener, signal });
  let choice: Pick<RunChoice, 'runId' | 'resume'> = { runId: options.runId ?? null, resume: options.resume ?? null };
  const runOptions = {
    store: options.store ?? null,
    registerUpstreams: options.registerUpstreams ?? null,
    signal,
    emit: (event: TrainingEvent): void => {
      restarts.observe(event);
      listener(event);
    },
    onRun: (runId: string): void => {
      choice = { runId: null, resume: runId };
      options.onRun?.(runId);
    },
    onStopRequest: (): void => stop.abort(new DOMException('stop requested', 'AbortError')),
    isResumable: (error: unknown): boolean => restarts.isResumable(error),
  };
  for (;;) {
    try {
      const summary = await runOnce(config, { ...runOptions, ...choice });
      // Another stage follows.
      if (summary === null) continue;
      // The last event: all resources of the run are closed.
      listener({ type: 'finished', summary });
      return summary;
    } catch (error) {
      if (!restarts.isResumable(error)) throw error;
      await restarts.next(error);
    }
  }
}

/** @returns null when a stage of the run has ended, and another one follows */
async function runOnce(config: ResolvedRun, options: Omit<RunOptions, 'onOpen'>): Promise<TrainingSummary | null> {
  const closers: Closer[] = [];
  const runOptions: RunOptions = { ...options, onOpen: (close) => closers.unshift(close) };
  if (!isPromptSearch(config) && config.runtime.type === 'openai-fine-tuning') {
    return await runThenClose(fineTuningWork(config, config.runtime, runOptions), runOptions, closers);
  }
  return isPromptSearch(config)
    ? await runThenClose(searchWork(config, runOptions), runOptions, closers)
    : await runThenClose(trainingWork(config, runOptions), runOptions, closers);
}

/** The options of every kind of run. */
interface RunOptions extends Omit<SessionOptions, 'config'> {
  readonly onRun: (runId: string) => void;
  /** Whether the run is resumed after this error, and keeps its status until then. */
  readonly isResumable: (error: unknown) => boolean;
}

/** A run in its open store. */
type StoredRun = Pick<OpenRun, 'store' | 'run' | 'isOver' | 'lease'> & { readonly state: object };

/** The phases of a kind of run. */
interface RunWork<TRun extends StoredRun, TSession> {
  readonly find: () => Promise<TRun>;
  readonly open: (run: TRun) => Promise<TSession>;
  /** Null when another stage follows, which needs another session. */
  readonly work: (session: TSession) => Promise<TrainingSummary | null>;
  /** Why a complete run has nothing left to do. */
  readonly nothingLeft: (run: TRun) => Omit<NothingLeftEvent, 'type' | 'runId'>;
  /** The summary of a complete run. */
  readonly summarise: (run: TRun) => TrainingSummary;
}

function trainingWork(config: ResolvedConfig, options: RunOptions): RunWork<OpenRun, TrainingSession> {
  const sessionOptions: SessionOptions = { ...options, config };
  return {
    find: () => openRun(sessionOptions),
    open: (run) => openSession(run, options),
    work: async (session) => {
      options.emit(startedEvent(session));
      return await trainingLoop(session);
    },
    nothingLeft: ({ state, config: present }) => ({
      finishedStep: state.finishedStep,
      steps: totalSteps(present),
      reason: completionReason(state, present) ?? 'steps',
    }),
    summarise: ({ run, state, tasks, config: present }) =>
      summariseRun({ run, state, tasks, config: present, seconds: secondsOf(run) }),
  };
}

/** A run that a vendor trains on stored data. */
function fineTuningWork(
  config: ResolvedConfig,
  runtime: FineTuningRuntime,
  options: RunOptions,
): RunWork<OpenRun, FineTuningSession> {
  const { emit, signal } = options;
  return {
    ...trainingWork(config, options),
    open: (run) => Promise.resolve({ ...run, runtime, emit, signal }),
    work: fineTune,
  };
}

function searchWork(config: ResolvedPromptSearch, options: RunOptions): RunWork<OpenSearch, SearchSession> {
  const searchOptions: SearchOptions = { ...options, config };
  return {
    find: () => openSearch(searchOptions),
    open: (run) => openSearchSession(run, searchOptions),
    work: searchLoop,
    nothingLeft: () => ({ finishedStep: 0, steps: 0, reason: 'limits' }),
    summarise: ({ run, state }) => summariseSearch({ run, config, state, seconds: secondsOf(run) }),
  };
}

async function runThenClose<TRun extends StoredRun, TSession>(
  { find, open, work, nothingLeft, summarise }: RunWork<TRun, TSession>,
  options: RunOptions,
  closers: readonly Closer[],
): Promise<TrainingSummary | null> {
  let run: TRun | null = null;
  try {
    run = await find();
    options.onRun(run.run.runId);
    if (run.isOver) {
      options.emit({ type: 'nothing-left', runId: run.run.runId, ...nothingLeft(run) });
      return summarise(run);
    }
    const session = await open(run);
    if (run.run.status === 'finished') run = { ...run, run: await reopenRun(run.store, run) };
    return await work(session);
  } catch (error) {
    const isStopped = options.signal.aborted;
    // A finished run that could not be resumed keeps its status.
    const hasEnded = run !== null && run.run.status !== 'finished' && !options.isResumable(error);
    // The server starts its run again, or records the end with the reason.
    const isOfServer = (options.registerUpstreams ?? null) !== null;
    const isPaused = AgentLightningError.isInstance(error) && error.code === 'BUDGET_REACHED';
    if (run !== null && hasEnded && !isOfServer) await recordEnd(run, isStopped || isPaused ? 'stopped' : 'failed');
    throw isStopped && run !== null ? stopped(run.run.runId, error) : error;
  } finally {
    await closeAll(closers, options.emit);
  }
}

function secondsOf({ createTimeMs, updateTimeMs }: Run): number {
  return (updateTimeMs - createTimeMs) / 1000;
}

/** Stores the status of an ended run, unless another trainer holds its lease. */
async function recordEnd({ store, run, lease }: StoredRun, status: RunStatus): Promise<void> {
  try {
    await lease.renew();
    await store.updateRun(run.runId, { status });
  } catch {
    // Ignored: the error that ended the run is the one to report.
  }
}

function startedEvent({ config, run, state, ...session }: TrainingSession): TrainingEvent {
  return {
    type: 'started',
    runId: run.runId,
    name: run.name,
    steps: totalSteps(config),
    firstStep: state.finishedStep + 1,
    ...(config.stage === null ? {} : { stage: { number: config.stage.index + 1, of: config.stages.length } }),
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
    remedy: `Resume with \`agl train --resume ${runId}\`.`,
    cause,
  });
}
