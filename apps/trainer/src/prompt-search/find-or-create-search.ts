import type { JsonObject, Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { recordedRuntime } from '../config/recorded-runtime.ts';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import { recordedSource } from '../config/task-source.ts';
import { type Found, findOrCreateRecord, type RunChoice } from '../run/find-or-create-record.ts';
import { fingerprint } from '../run/run-shape.ts';
import { promptsDigest } from './prompt-resources.ts';
import {
  areOtherLimits,
  initialSearchState,
  limitsOf,
  readSearchState,
  type SearchRunState,
} from './search-run-state.ts';
import type { SearchTasks } from './search-session.ts';

/** A search leased by this process, and its state. */
export type FoundSearch = Found<SearchRunState>;

/**
 * Starts a search, or finds the one to resume. A finished search is unchanged unless its limits have changed: then it
 * resumes.
 *
 * @throws the errors of {@link findOrCreateRecord}
 */
export async function findOrCreateSearch(
  store: Store,
  {
    config,
    tasks,
    untilMs,
    ...choice
  }: RunChoice & {
    readonly config: ResolvedPromptSearch;
    readonly tasks: SearchTasks;
    /** The end of the traces that are tasks. */
    readonly untilMs: number;
  },
): Promise<FoundSearch> {
  const { name, seed } = config.shared;
  const limits = limitsOf(config);
  return await findOrCreateRecord(store, choice, {
    name,
    shape: searchShape(config, tasks),
    config: { ...recordedConfig(config), dataUntilMs: untilMs },
    initial: initialSearchState({ seed, measuredOn: tasks.test.length === 0 ? 'validation' : 'test' }),
    read: readSearchState,
    resumedState: (state, status) => {
      if (status !== 'finished') return state;
      return areOtherLimits(state.limits, limits) ? { ...state, ended: null, limits: null } : null;
    },
  });
}

/** Settings that must not change when a search is resumed: all except its limits. */
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
    // Absent in runs of earlier versions, whose prompts are all instructions.
    ...(Object.keys(config.searched).length === 0 ? {} : { searched: JSON.stringify(config.searched) }),
    'runtime.model': config.runtime.model ?? 'the first one',
    'evaluation.tasks': config.evaluation.tasks,
    'evaluation.rolloutsPerTask': config.evaluation.rolloutsPerTask,
    'tasks.train': fingerprint(tasks.train),
    'tasks.validation': fingerprint(tasks.validation),
    'tasks.test': fingerprint(tasks.test),
  };
}

/** The configuration as stored: without functions, schemas, keys and passwords. */
function recordedConfig(config: ResolvedPromptSearch): JsonObject {
  const { algorithm, prompts, searched, optimizer, runtime, tasks, sampling, evaluation } = config;
  const { name, tags, storeUrl, gateway, agents, limits, rewards, prices, seed } = config.shared;
  return JSON.parse(
    JSON.stringify({
      name,
      tags,
      storeUrl: addressText(storeUrl),
      gateway: { ...gateway, url: gateway.url === null ? null : addressText(gateway.url) },
      agents,
      limits,
      rewards,
      prices,
      sampling,
      evaluation,
      seed,
      algorithm,
      prompts,
      searched,
      optimizer:
        optimizer === null
          ? null
          : { ...optimizer, baseUrl: addressText(optimizer.baseUrl), apiKey: undefined, keySource: undefined },
      runtime: recordedRuntime(runtime),
      tasks: {
        train: recordedSource(tasks.train),
        validation: recordedSource(tasks.validation),
        test: tasks.test === null ? null : recordedSource(tasks.test),
      },
    }),
  ) as JsonObject;
}
