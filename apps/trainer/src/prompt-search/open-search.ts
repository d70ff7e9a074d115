import { AgentLightningError, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { SearchStart } from '@agentlightning/core/protocol';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import { judgeResources } from '../config/reward-definition.ts';
import type { TrainingListener } from '../events/training-listener.ts';
import { dataEndMs, findInStore, type SessionOptions, stopwatch, waitOptions } from '../opening/open-session.ts';
import { cancelUnfinished } from '../rollouts/collect-rollouts.ts';
import { leaseIntervalMs } from '../run/run-lease.ts';
import { requiredAttemptTokens } from '../runtime/attempt-secret.ts';
import { storeChecks } from '../runtime/wait-for-store.ts';
import { watchHealth } from '../runtime/watch-health.ts';
import { readTaskFiles } from '../stored-data/read-tasks.ts';
import { startRunner } from '../workers/start-runner.ts';
import { type FoundSearch, findOrCreateSearch } from './find-or-create-search.ts';
import { openSearchModel } from './open-search-model.ts';
import { OptimizerModel } from './optimizer-model.ts';
import { PromptResources } from './prompt-resources.ts';
import { PromptUse } from './prompt-use.ts';
import { kindsOf } from './prompts-file.ts';
import { SearchProgress } from './search-progress.ts';
import { SearchRecord } from './search-record.ts';
import type { SearchSession, SearchTasks } from './search-session.ts';

/** Options of {@link openSearch}. */
export type SearchOptions = SessionOptions<ResolvedPromptSearch>;

/** A search with its open store, before other components are opened. */
export interface OpenSearch extends FoundSearch {
  readonly store: Store;
  readonly tasks: SearchTasks;
}

/** Reads the tasks, opens the store, and finds or starts the search. */
export async function openSearch(options: SearchOptions): Promise<OpenSearch> {
  const { config } = options;
  const readStored = await readTaskFiles(config.tasks, config.shared.taskSchema);
  let tasks: SearchTasks = { train: [], validation: [], test: [] };
  const find = async (store: Store): Promise<FoundSearch> => {
    const untilMs = await dataEndMs(store, options);
    const read = await readStored({ store, untilMs });
    tasks = { ...read, test: read.test ?? [] };
    return await findOrCreateSearch(store, { ...options, tasks, untilMs });
  };
  const found = await findInStore(options, config.shared, find);
  return { tasks, ...found };
}

/** Opens model, gateway, runner and optimiser for a search. */
export async function openSearchSession(opened: OpenSearch, options: SearchOptions): Promise<SearchSession> {
  const { emit, signal, onOpen } = options;
  const attemptTokens = await requiredAttemptTokens(options.config.shared);
  const config = { ...options.config, shared: { ...options.config.shared, attemptTokens } };
  const { store, run, state, lease, tasks } = opened;
  warnOfSharedTasks(tasks, emit);
  const failures = new AbortController();
  const onFailure = (error: AgentLightningError): void => failures.abort(error);
  signal.throwIfAborted();
  const wait = waitOptions(options, config.shared);
  const model = await openSearchModel({ config, store, run, seed: state.seed, wait, onOpen, onFailure });
  await cancelUnfinished(store, { runId: run.runId });
  onOpen(startRunner({ config: config.shared, store, run, emit, onFailure }));
  const leaseCheck = { what: 'the store', check: lease.renew };
  const health = watchHealth({
    checks: [...storeChecks(config.shared), leaseCheck, ...model.checks],
    intervalMs: leaseIntervalMs,
    outageToleranceMs: config.shared.limits.outageToleranceMs,
    onOutage: ({ message }) => emit({ type: 'warning', message: `${message}; waiting until it responds` }),
    onFailure,
  });
  onOpen(health.stop);
  // Requests in flight are no longer needed at the end of the run.
  const over = new AbortController();
  onOpen(() => over.abort(new AgentLightningError({ code: 'CANCELLED', message: 'the search is over' })));
  const whole = AbortSignal.any([signal, failures.signal, over.signal]);
  emit({
    type: 'started',
    runId: run.runId,
    name: run.name,
    steps: 0,
    firstStep: 1,
    trainTasks: tasks.train.length,
    heldOutTasks: Math.min(tasks.test.length, config.evaluation.tasks),
    algorithm: config.search.name,
    model: model.name,
    device: config.runtime.type === 'endpoint' ? 'endpoint' : 'cpu',
    search: searchStart(config, opened),
  });
  return {
    config,
    run,
    store,
    tasks,
    record: new SearchRecord({ store, run, lease, state, workedSeconds: stopwatch(state.effort.seconds) }),
    resources: new PromptResources({
      store,
      runId: run.runId,
      model: model.resource,
      judges: judgeResources(config.shared.rewards),
    }),
    optimizer:
      config.optimizer === null ? null : new OptimizerModel(config.optimizer, { clock: systemClock, signal: whole }),
    progress: new SearchProgress(emit, config.search.budget, state.spent),
    promptUse: new PromptUse(config.prompts),
    assertHealthy: health.assertHealthy,
    emit,
    warnOnce: warningOnce(emit),
    signal: whole,
  };
}

function searchStart(config: ResolvedPromptSearch, { tasks, state }: OpenSearch): SearchStart {
  return {
    validationTasks: tasks.validation.length,
    prompts: Object.keys(config.prompts),
    kinds: kindsOf(config),
    optimizer: config.optimizer?.model ?? null,
    // Listed separately: the budget of a search may have further fields, such as the number of tasks per sample.
    maxRollouts: config.search.budget.maxRollouts,
    maxOptimizerCalls: config.search.budget.maxOptimizerCalls,
    versions: state.versions.length,
  };
}

function warningOnce(emit: TrainingListener): (message: string) => void {
  const emitted = new Set<string>();
  return (message) => {
    if (!emitted.has(message)) emit({ type: 'warning', message });
    emitted.add(message);
  };
}

/** The score of a version on tasks that it was optimised for is too high. */
function warnOfSharedTasks({ train, validation, test }: SearchTasks, emit: TrainingListener): void {
  const known = new Set(train.map((task) => JSON.stringify(task)));
  const count = (tasks: SearchTasks['train']): number => tasks.filter((task) => known.has(JSON.stringify(task))).length;
  for (const [name, shared] of [['validation', count(validation)] as const, ['test', count(test)] as const]) {
    if (shared === 0) continue;
    emit({
      type: 'warning',
      message: `${shared} of tasks.${name} are in tasks.train too: their rewards overstate the outcome`,
    });
  }
}
