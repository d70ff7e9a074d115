import type { JsonObject, Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { runtimeForTheRecord } from '../config/runtime-for-the-record.ts';
import { sourceForTheRecord } from '../config/task-source.ts';
import { summaryOf } from '../evaluation/stored-evaluation.ts';
import { completionReason } from '../loop/completion-reason.ts';
import { type Found, findOrBegin, type RunChoice } from './find-or-begin.ts';
import { type RunTasks, rolloutShape } from './run-shape.ts';
import { initialRunState, type RunState, readRunState } from './run-state.ts';

/** A training that this process may work on, and where it stands. */
export type FoundRun = Found<RunState>;

/**
 * Begins a training, or finds the one to go on with: from its last checkpoint, whatever came after it. One that is
 * finished stays as it is, unless it is to have more steps than it had, or a goal that it has not reached.
 *
 * @throws what {@link findOrBegin} throws
 */
export async function findOrBeginRun(
  store: Store,
  { config, tasks, ...choice }: RunChoice & { readonly config: ResolvedConfig; readonly tasks: RunTasks },
): Promise<FoundRun> {
  return await findOrBegin(store, choice, {
    name: config.name,
    shape: rolloutShape(config, tasks),
    config: configForTheRecord(config),
    initial: initialRunState(config),
    read: (run) => readRunState(run, config.dataDir),
    goOn: (state, status) =>
      status === 'finished' && completionReason(state, config) !== null ? null : atCheckpoint(state, config),
  });
}

/** The state as it was when the last checkpoint was saved: steps beyond it are done again. */
function atCheckpoint(state: RunState, { steps }: Pick<ResolvedConfig, 'steps'>): RunState {
  const finishedStep = state.checkpoint?.step ?? 0;
  return {
    ...state,
    steps: Math.max(steps, finishedStep),
    finishedStep,
    rewardCurve: state.rewardCurve.slice(0, finishedStep),
    evaluations: evaluationsOnTheWay(state).filter(({ step }) => step <= finishedStep),
    after: null,
  };
}

/** For a run that goes on, what was measured at its end was measured on the way. */
function evaluationsOnTheWay({ finishedStep, evaluations, after }: RunState): RunState['evaluations'] {
  if (after === null || evaluations.some(({ step }) => step === finishedStep)) return evaluations;
  return [...evaluations, { step: finishedStep, summary: summaryOf(after) }];
}

/** What the store keeps of a configuration: all but functions, schemas, keys and passwords. */
function configForTheRecord(config: ResolvedConfig): JsonObject {
  const { agent: _agent, taskSchema: _schema, storeApiKey: _key, attemptTokens: _tokens, ...known } = config;
  const { runtime, tasks, storeUrl, gatewayUrl, ...plain } = known;
  return JSON.parse(
    JSON.stringify({
      ...plain,
      storeUrl: addressText(storeUrl),
      gatewayUrl: gatewayUrl === null ? null : addressText(gatewayUrl),
      runtime: runtimeForTheRecord(runtime),
      tasks: { train: sourceForTheRecord(tasks.train), test: sourceForTheRecord(tasks.test) },
    }),
  ) as JsonObject;
}
