import { AgentLightningError, type JsonObject, newId, type Run, type Store } from '@agentlightning/core';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { runtimeForTheRecord } from '../config/runtime-for-the-record.ts';
import { sourceForTheRecord } from '../config/task-source.ts';
import { assertSameShape, type RunTasks, rolloutShape, shapeKey } from './rollout-shape.ts';
import { type RunLease, takeRunLease } from './run-lease.ts';
import { initialRunState, type RunState, readRunState, writeRunState } from './run-state.ts';

/** Which run to work on. */
export interface RunChoice {
  readonly config: ResolvedConfig;
  /** The id of a new run; null draws one. */
  readonly runId: string | null;
  /** The run to go on with; null begins a new one. */
  readonly resume: string | null;
}

/** A run that this trainer may work on, and where it stands. */
export interface FoundRun {
  readonly run: Run;
  readonly state: RunState;
  readonly lease: RunLease;
}

/**
 * Begins a run, or finds the one to go on with: from its last checkpoint, whatever came after it. A run that is
 * finished stays as it is.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run, CONFIG for an id that cannot be one and for a configuration
 *   that the run cannot go on with, CONFLICT for an id that is taken and for a run that another trainer works on
 */
export async function findOrBeginRun(
  store: Store,
  options: RunChoice & { readonly tasks: RunTasks },
): Promise<FoundRun> {
  const { config, resume } = options;
  const shape = rolloutShape(config, options.tasks);
  if (resume === null) {
    const runId = checkRunId(options.runId ?? newId('run'));
    await store.createRun({ runId, name: config.name, config: configForTheRecord(config, shape) });
    const lease = await takeRunLease(store, runId);
    const state = initialRunState(config);
    return { run: await store.updateRun(runId, { state: writeRunState(state) }), state, lease };
  }
  assertSameShape(await store.getRun(resume), shape);
  const lease = await takeRunLease(store, resume);
  // Read again: whoever had the run may have gone on with it meanwhile.
  const run = await store.getRun(resume);
  const stored = readRunState(run, config);
  if (run.status === 'finished') return { run, state: stored, lease };
  const state = atCheckpoint(stored);
  return { run: await store.updateRun(resume, { status: 'running', state: writeRunState(state) }), state, lease };
}

/** The state as it was when the last checkpoint was saved: steps beyond it are done again. */
function atCheckpoint(state: RunState): RunState {
  const finishedStep = state.checkpoint?.step ?? 0;
  return {
    ...state,
    finishedStep,
    rewardCurve: state.rewardCurve.slice(0, finishedStep),
    evaluations: state.evaluations.filter(({ step }) => step <= finishedStep),
  };
}

/** @throws AgentLightningError CONFIG for an id that cannot be one */
export function checkRunId(runId: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(runId)) return runId;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `"${runId}" cannot be the id of a run`,
    remedy: 'Use 1 to 64 letters, digits, hyphens and underscores.',
  });
}

/** What the store keeps of a configuration: all but functions, schemas and keys. */
function configForTheRecord(config: ResolvedConfig, shape: JsonObject): JsonObject {
  const { agent: _agent, taskSchema: _schema, storeApiKey: _key, attemptTokens: _tokens, ...known } = config;
  const { runtime, tasks, ...plain } = known;
  return JSON.parse(
    JSON.stringify({
      ...plain,
      runtime: runtimeForTheRecord(runtime),
      tasks: { train: sourceForTheRecord(tasks.train), test: sourceForTheRecord(tasks.test) },
      [shapeKey]: shape,
    }),
  ) as JsonObject;
}
