import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import type { RunStatus } from '@agentlightning/core/store';
import type { PromptSearchConfig } from './config/prompt-search-config.ts';
import type { ResolvedConfig } from './config/resolve-config.ts';
import type { ResolvedPromptSearch } from './config/resolve-prompt-search.ts';
import { isPromptSearch, type ResolvedRun, resolveRun } from './config/resolve-run.ts';
import type { TrainConfig } from './config/train-config.ts';
import { completionReason } from './loop/completion-reason.ts';
import { summariseRun } from './loop/summarise-run.ts';
import { trainingLoop } from './loop/training-loop.ts';
import { type OpenSearch, openSearch, openSearchSession, type SearchOptions } from './prompt-search/open-search.ts';
import { searchLoop } from './prompt-search/search-loop.ts';
import type { SearchSession } from './prompt-search/search-session.ts';
import { summariseSearch } from './prompt-search/summarise-search.ts';
import { reopenRun } from './run/find-or-begin.ts';
import { type Closer, type OpenRun, openRun, openSession, type SessionOptions } from './session/open-session.ts';
import { trainedPolicies } from './session/session-policies.ts';
import type { TrainingSession } from './session/training-session.ts';
import type { NothingLeftEvent, TrainingEvent, TrainingListener, TrainingSummary } from './training-event.ts';

/** How to run a training. */
export interface TrainOptions {
  /**
   * Goes on with a run instead of beginning a new one: with one that was interrupted, or with a finished one that is to
   * have more steps now, or another goal; a search for prompts, other limits. A run that has nothing left to do tells its
   * outcome again, after a `nothing-left` event.
   */
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
  readonly #config: ResolvedRun;

  /**
   * @param config - what to train, with defaults as documented at {@link TrainConfig}; or which prompts to make better,
   *   with those of {@link PromptSearchConfig}
   * @throws AgentLightningError CONFIG when a key or value is wrong
   */
  constructor(config: TrainConfig<TTask> | PromptSearchConfig<TTask>) {
    this.#config = resolveRun(config, process.cwd());
  }

  /**
   * Trains until the configured steps are done, or searches until the budget of the search is spent.
   *
   * @throws AgentLightningError when the run cannot go on; nothing finished is lost, and `resume` goes on
   */
  train(options: TrainOptions = {}): Promise<TrainingSummary> {
    return trainWith(this.#config, options);
  }
}

/** What the `agl` command wants to know besides. */
export interface TrainWithOptions extends TrainOptions {
  /** Told which run it is as soon as that is in the store: what goes wrong from then on, it can be gone on with. */
  readonly onRun?: ((runId: string) => void) | undefined;
}

/** Trains, or searches, with a configuration that is resolved already; what the `agl` command calls. */
export async function trainWith(config: ResolvedRun, options: TrainWithOptions = {}): Promise<TrainingSummary> {
  const closers: Closer[] = [];
  const sessionOptions: RunOptions = {
    runId: options.runId ?? null,
    resume: options.resume ?? null,
    store: options.store ?? null,
    emit: options.onEvent ?? ((_event: TrainingEvent): void => undefined),
    signal: options.signal ?? new AbortController().signal,
    onOpen: (close) => closers.unshift(close),
  };
  const runOptions = { ...sessionOptions, onRun: options.onRun };
  const summary = isPromptSearch(config)
    ? await runThenClose(searchWork(config, sessionOptions), runOptions, closers)
    : await runThenClose(trainingWork(config, sessionOptions), runOptions, closers);
  // The last thing that is said: nothing of the run is open any more.
  sessionOptions.emit({ type: 'finished', summary });
  return summary;
}

/** What every run is opened with, whatever it does. */
type RunOptions = Omit<SessionOptions, 'config'>;

/** A run in its store. */
type StoredRun = Pick<OpenRun, 'store' | 'run' | 'isOver' | 'lease'> & { readonly state: object };

/** What a kind of run does, from its place in the store to its summary. */
interface RunWork<TRun extends StoredRun, TSession> {
  readonly find: () => Promise<TRun>;
  readonly open: (run: TRun) => Promise<TSession>;
  readonly work: (session: TSession) => Promise<TrainingSummary>;
  /** Of a run that has nothing left to do: why. */
  readonly nothingLeft: (run: TRun) => Omit<NothingLeftEvent, 'type' | 'runId'>;
  /** And what it came to. */
  readonly summarise: (run: TRun) => TrainingSummary;
}

function trainingWork(config: ResolvedConfig, options: RunOptions): RunWork<OpenRun, TrainingSession> {
  const whole: SessionOptions = { ...options, config };
  return {
    find: () => openRun(whole),
    open: (run) => openSession(run, whole),
    work: async (session) => {
      options.emit(startedEvent(session));
      return await trainingLoop(session);
    },
    nothingLeft: ({ state }) => ({
      finishedStep: state.finishedStep,
      steps: config.steps,
      reason: completionReason(state, config) ?? 'steps',
    }),
    summarise: ({ run, state }) => {
      return summariseRun({ run, state, config, seconds: secondsOf(run) });
    },
  };
}

function searchWork(config: ResolvedPromptSearch, options: RunOptions): RunWork<OpenSearch, SearchSession> {
  const whole: SearchOptions = { ...options, config };
  return {
    find: () => openSearch(whole),
    open: (run) => openSearchSession(run, whole),
    work: searchLoop,
    nothingLeft: () => ({ finishedStep: 0, steps: 0, reason: 'limits' }),
    summarise: ({ run, state }) => summariseSearch({ run, config, state, seconds: secondsOf(run) }),
  };
}

async function runThenClose<TRun extends StoredRun, TSession>(
  { find, open, work, ...over }: RunWork<TRun, TSession>,
  options: RunOptions & Pick<TrainWithOptions, 'onRun'>,
  closers: readonly Closer[],
): Promise<TrainingSummary> {
  let run: TRun | null = null;
  try {
    run = await find();
    options.onRun?.(run.run.runId);
    if (run.isOver) {
      options.emit({ type: 'nothing-left', runId: run.run.runId, ...over.nothingLeft(run) });
      return over.summarise(run);
    }
    const session = await open(run);
    if (run.run.status === 'finished') run = { ...run, run: await reopenRun(run.store, run) };
    return await work(session);
  } catch (error) {
    const isStopped = options.signal.aborted;
    // A finished run that could not be gone on with is what it was.
    if (run !== null && run.run.status !== 'finished') await leaveRun(run, isStopped ? 'stopped' : 'failed');
    throw isStopped && run !== null ? stopped(run.run.runId, error) : error;
  } finally {
    for (const close of closers) await closeQuietly(close, options);
  }
}

function secondsOf({ createTimeMs, updateTimeMs }: Run): number {
  return (updateTimeMs - createTimeMs) / 1000;
}

/** Says in the store how the run was left, unless another trainer has it. */
async function leaveRun({ store, run, lease }: StoredRun, status: RunStatus): Promise<void> {
  try {
    await lease.renew();
    await store.updateRun(run.runId, { status });
  } catch {
    // How the run ended is worth more than this: a store that is gone is not told.
  }
}

/** Whatever goes wrong when one thing is closed, the others must be closed too, and the run's outcome stands. */
async function closeQuietly(close: Closer, { emit }: RunOptions): Promise<void> {
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
