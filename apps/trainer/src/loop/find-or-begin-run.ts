import { AgentLightningError, type JsonObject, newId, type Run, type Store } from '@agentlightning/core';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { initialRunState, type RunState, readRunState, writeRunState } from './run-state.ts';

/** Which run to work on. */
export interface RunChoice {
  readonly config: ResolvedConfig;
  /** The id of a new run; null draws one. */
  readonly runId: string | null;
  /** The run to go on with; null begins a new one. */
  readonly resume: string | null;
}

/** A run and where it stands. */
export interface FoundRun {
  readonly run: Run;
  readonly state: RunState;
}

/**
 * Begins a run, or finds the one to go on with: from its last checkpoint, whatever came after it.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run, PRECONDITION_FAILED for a finished one, CONFIG
 *   for an id that cannot be one, CONFLICT for one that is taken
 */
export async function findOrBeginRun(store: Store, options: RunChoice): Promise<FoundRun> {
  const { config, resume } = options;
  if (resume === null) {
    const runId = checkRunId(options.runId ?? newId('run'));
    const state = initialRunState({ seed: config.seed, dataDir: config.dataDir });
    await store.createRun({ runId, name: config.name, config: configForTheRecord(config) });
    return { run: await store.updateRun(runId, { state: writeRunState(state) }), state };
  }
  const run = await store.getRun(resume);
  if (run.status === 'finished') {
    throw new AgentLightningError({
      code: 'PRECONDITION_FAILED',
      message: `run ${resume} is finished already`,
      remedy: 'Start a new run, or look at this one with `agl runs`.',
    });
  }
  const stored = readRunState(run);
  const finishedStep = stored.checkpoint?.step ?? 0;
  const state = { ...stored, finishedStep, rewardCurve: stored.rewardCurve.slice(0, finishedStep) };
  return { run: await store.updateRun(resume, { status: 'running', state: writeRunState(state) }), state };
}

function checkRunId(runId: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(runId)) return runId;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `"${runId}" cannot be the id of a run`,
    remedy: 'Use 1 to 64 letters, digits, hyphens and underscores.',
  });
}

/** What the store keeps of a configuration: all but functions and schemas. */
function configForTheRecord(config: ResolvedConfig): JsonObject {
  const { agent: _agent, taskSchema: _schema, storeApiKey: _key, runtime, tasks, ...plain } = config;
  const source = (tasksOf: string | readonly unknown[]): string =>
    typeof tasksOf === 'string' ? tasksOf : `${tasksOf.length} tasks in memory`;
  return JSON.parse(
    JSON.stringify({
      ...plain,
      runtime: { ...runtime, apiKey: undefined },
      tasks: { train: source(tasks.train), test: source(tasks.test) },
    }),
  ) as JsonObject;
}
