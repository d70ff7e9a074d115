import { type JsonObject, newId, type Run, type Store } from '@agentlightning/core';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import { runtimeForTheRecord } from '../config/runtime-for-the-record.ts';
import { sourceForTheRecord } from '../config/task-source.ts';
import { checkRunId, type RunChoice } from '../loop/find-or-begin-run.ts';
import { assertSameShape, fingerprint, shapeKey } from '../loop/rollout-shape.ts';
import { type RunLease, takeRunLease } from '../loop/run-lease.ts';
import { promptsDigest } from './prompt-resources.ts';
import { initialSearchState, readSearchState, type SearchRunState, writeSearchState } from './search-run-state.ts';
import type { SearchTasks } from './search-session.ts';

/** Which search to work on. */
export interface SearchChoice extends Omit<RunChoice, 'config'> {
  readonly config: ResolvedPromptSearch;
  readonly tasks: SearchTasks;
}

/** A search that this process may work on, and where it stands. */
export interface FoundSearch {
  readonly run: Run;
  readonly state: SearchRunState;
  readonly lease: RunLease;
}

/**
 * Begins a search, or finds the one to go on with. One that is finished stays as it is.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run, CONFIG for an id that cannot be one and for a configuration
 *   that the search cannot go on with, CONFLICT for an id that is taken and for a run that another process works on
 */
export async function findOrBeginSearch(store: Store, choice: SearchChoice): Promise<FoundSearch> {
  const { config, tasks, resume } = choice;
  const shape = searchShape(config, tasks);
  if (resume === null) {
    const runId = checkRunId(choice.runId ?? newId('run'));
    const state = initialStateOf(choice);
    await store.createRun({ runId, name: config.shared.name, config: configForTheRecord(config, shape) });
    const lease = await takeRunLease(store, runId);
    return { run: await store.updateRun(runId, { state: writeSearchState(state) }), state, lease };
  }
  const before = await store.getRun(resume);
  if (Object.keys(before.state).length > 0) readSearchState(before);
  assertSameShape(before, shape);
  const lease = await takeRunLease(store, resume);
  // Read again: whoever had the run may have gone on with it meanwhile.
  const run = await store.getRun(resume);
  const state = stateOf(run, choice);
  if (run.status === 'finished') return { run, state, lease };
  return { run: await store.updateRun(resume, { status: 'running', state: writeSearchState(state) }), state, lease };
}

/** One that was killed in the moment it was made has not begun. */
function stateOf(run: Run, choice: SearchChoice): SearchRunState {
  return Object.keys(run.state).length > 0 ? readSearchState(run) : initialStateOf(choice);
}

function initialStateOf({ config, tasks }: SearchChoice): SearchRunState {
  const { seed, dataDir } = config.shared;
  return initialSearchState({ seed, dataDir, measuredOn: tasks.test.length === 0 ? 'validation' : 'test' });
}

/**
 * What decides what a search does; it must stay the same when the search is gone on with. Only the budget of one that has
 * not ended yet may change.
 */
function searchShape(config: ResolvedPromptSearch, tasks: SearchTasks): JsonObject {
  const {
    maxRollouts: _rollouts,
    maxOptimizerCalls: _calls,
    rounds: _rounds,
    stopAtScore: _stop,
    ...options
  } = config.algorithm;
  return {
    kind: 'prompt-search',
    algorithm: JSON.stringify(options),
    prompts: promptsDigest(config.prompts),
    'runtime.model': config.runtime.model ?? 'the first one',
    'evaluation.tasks': config.shared.evaluation.tasks,
    'evaluation.rolloutsPerTask': config.shared.evaluation.rolloutsPerTask,
    'tasks.train': fingerprint(tasks.train),
    'tasks.validation': fingerprint(tasks.validation),
    'tasks.test': fingerprint(tasks.test),
  };
}

/** What the store keeps of a configuration: all but functions, schemas and keys. */
function configForTheRecord(config: ResolvedPromptSearch, shape: JsonObject): JsonObject {
  const { algorithm, prompts, optimizer, runtime, tasks, failedReward, missingReward, shared } = config;
  const { name, storeUrl, gatewayUrl, concurrency, rolloutTimeoutMs, maxAttempts, sampling, evaluation, seed } = shared;
  const settings = {
    name,
    storeUrl,
    gatewayUrl,
    concurrency,
    rolloutTimeoutMs,
    maxAttempts,
    sampling,
    evaluation,
    seed,
  };
  return JSON.parse(
    JSON.stringify({
      ...settings,
      algorithm,
      prompts,
      failedReward,
      missingReward,
      optimizer: { ...optimizer, apiKey: undefined },
      runtime: runtimeForTheRecord(runtime),
      tasks: {
        train: sourceForTheRecord(tasks.train),
        validation: sourceForTheRecord(tasks.validation),
        test: tasks.test === null ? null : sourceForTheRecord(tasks.test),
      },
      [shapeKey]: shape,
    }),
  ) as JsonObject;
}
