import type { JsonObject, Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { recordedRuntime } from '../config/recorded-runtime.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { isLastStage, stageConfigs, totalSteps } from '../config/stages.ts';
import { recordedSource } from '../config/task-source.ts';
import { allEvaluations } from './choose-checkpoint.ts';
import { completionReason } from './completion-reason.ts';
import { type Found, findOrCreateRecord, type RunChoice } from './find-or-create-record.ts';
import { findTeachers } from './find-teachers.ts';
import { rolloutShape, type TaskFingerprints } from './run-shape.ts';
import { presentConfig, presentStage } from './run-stages.ts';
import { initialRunState, type RunState, readRunState } from './run-state.ts';
import { findWarmStart } from './warm-start.ts';

/** A training run that this process holds the lease of, with its state. */
export type FoundRun = Found<RunState>;

/**
 * Creates a training run, or finds the run to resume, at its last checkpoint. A finished run is resumed only when the
 * configuration has more steps, or a goal that the run has not reached.
 *
 * @throws the errors of {@link findOrCreateRecord} and {@link findWarmStart}
 */
export async function findOrCreateRun(
  store: Store,
  {
    config,
    tasks,
    dataUntilMs,
    ...choice
  }: RunChoice & {
    readonly config: ResolvedConfig;
    readonly tasks: TaskFingerprints;
    /** The end of the rollouts that are data or tasks of the run, in Unix milliseconds. */
    readonly dataUntilMs: number;
  },
): Promise<FoundRun> {
  const origins = await originsOf(store, choice, config);
  return await findOrCreateRecord(store, choice, {
    name: config.name,
    shape: rolloutShape(config, tasks),
    config: { ...recordedConfig(config), dataUntilMs },
    initial: { ...initialRunState(config), ...origins },
    read: (run) => readRunState(run, config.dataDir),
    resumedState: (state, status) =>
      status === 'finished' && isComplete(state, config) ? null : atCheckpoint(state, config),
  });
}

function isComplete(state: RunState, config: ResolvedConfig): boolean {
  const present = presentConfig(config, state);
  return isLastStage(present) && completionReason(state, present) !== null;
}

/** The checkpoints of other runs that a new run begins with, and learns from. A resumed run has them in its state. */
async function originsOf(
  store: Store,
  { resume }: Pick<RunChoice, 'resume'>,
  config: ResolvedConfig,
): Promise<Pick<RunState, 'from' | 'teachers'>> {
  // A process that was killed while it created a run leaves an empty state.
  if (resume !== null && Object.keys((await store.getRun(resume)).state).length > 0) return { from: null };
  const { from } = config.checkpoints;
  const found = await Promise.all(stageConfigs(config).map((stage) => findTeachers(store, stage)));
  const teachers = Object.assign({}, ...found) as Awaited<ReturnType<typeof findTeachers>>;
  return {
    from: from === null ? null : await findWarmStart(store, from, config),
    ...(Object.keys(teachers).length === 0 ? {} : { teachers }),
  };
}

/** The state at the last checkpoint: later steps are repeated. A final evaluation becomes one during training. */
function atCheckpoint(state: RunState, config: ResolvedConfig): RunState {
  const finishedStep = state.checkpoint?.step ?? presentStage(state).firstStep;
  return {
    ...state,
    steps: Math.max(totalSteps(presentConfig(config, state)), finishedStep),
    finishedStep,
    rewardCurve: state.rewardCurve.slice(0, finishedStep),
    lossCurve: state.lossCurve.slice(0, finishedStep),
    evaluations: allEvaluations(state).filter(({ step }) => step <= finishedStep),
    warnings: state.warnings.filter(({ step }) => step <= finishedStep),
    after: null,
    verdict: null,
    ...(state.guards === undefined ? {} : { guards: withoutAfter(state.guards) }),
    finalStep: null,
    passRates: { ...state.passRates, current: state.passRates.saved },
    taskTrials: { ...state.taskTrials, current: state.taskTrials.saved },
  };
}

function recordedStage({ train, trainSchema: _schema, ...settings }: ResolvedConfig['stages'][number]): JsonObject {
  return { ...settings, train: recordedSource(train) } as unknown as JsonObject;
}

function withoutAfter(guards: NonNullable<RunState['guards']>): NonNullable<RunState['guards']> {
  const entries = Object.entries(guards).map(([name, { before }]) => [name, { before, after: null, verdict: null }]);
  return Object.fromEntries(entries);
}

/** The configuration without functions, schemas, keys and passwords, as the store keeps it. */
export function recordedConfig(config: ResolvedConfig): JsonObject {
  const { agent: _agent, taskSchema: _schema, storeApiKey: _key, attemptTokens: _tokens, ...known } = config;
  const { runtime, tasks, storeUrl, gateway, evaluation, stages, stage: _stage, ...plain } = known;
  const guards = Object.entries(evaluation.guards).map(([name, source]) => [name, recordedSource(source)]);
  return JSON.parse(
    JSON.stringify({
      ...plain,
      storeUrl: addressText(storeUrl),
      gateway: { ...gateway, url: gateway.url === null ? null : addressText(gateway.url) },
      runtime: recordedRuntime(runtime),
      ...(stages.length === 0 ? {} : { stages: stages.map(recordedStage) }),
      evaluation: { ...evaluation, guards: Object.fromEntries(guards) },
      tasks: {
        train: recordedSource(tasks.train),
        test: recordedSource(tasks.test),
        validation: tasks.validation === null ? null : recordedSource(tasks.validation),
      },
    }),
  ) as JsonObject;
}
