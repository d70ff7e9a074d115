import type { AgentLightningError, Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { policyKey } from '../config/policies.ts';
import { groupSizeOf, needsSamplingLogprobs } from '../config/policy-learner.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { judgeResources } from '../config/reward-definition.ts';
import { stageConfigs, stepsBefore } from '../config/stages.ts';
import type { ServiceListener, TrainingListener } from '../events/training-listener.ts';
import { cancelUnfinished } from '../rollouts/collect-rollouts.ts';
import type { Found, RunChoice } from '../run/find-or-create-record.ts';
import { type FoundRun, findOrCreateRun } from '../run/find-or-create-run.ts';
import { leaseIntervalMs } from '../run/run-lease.ts';
import { fingerprint, fingerprintsOf, type RunTasks } from '../run/run-shape.ts';
import { presentConfig } from '../run/run-stages.ts';
import type { TrainedBase } from '../run/run-state.ts';
import { readStepRecords } from '../run/step-records.ts';
import { requiredAttemptTokens } from '../runtime/attempt-secret.ts';
import type { RegisterUpstreams } from '../runtime/open-gateway.ts';
import { type OpenRuntime, openRuntime } from '../runtime/open-runtime.ts';
import type { ServiceWait } from '../runtime/wait-for-service.ts';
import { storeChecks, waitForStore } from '../runtime/wait-for-store.ts';
import { type HealthCheck, watchHealth } from '../runtime/watch-health.ts';
import type { Closer } from '../session/close-all.ts';
import type { SessionPolicy } from '../session/session-policies.ts';
import type { SessionData, TrainingSession } from '../session/training-session.ts';
import { readTaskFiles } from '../stored-data/read-tasks.ts';
import { openStoredData, type StoredData } from '../stored-data/stored-data.ts';
import { startRunner } from '../workers/start-runner.ts';
import { assertTrainable } from './assert-trainable.ts';
import { openTeacher } from './open-teacher.ts';
import { type ServedSessionPolicy, servePolicies } from './serve-policies.ts';

/** Options of a session. */
export interface SessionOptions<TConfig = ResolvedConfig> extends RunChoice {
  readonly config: TConfig;
  /** An open store, which is not closed; null opens the configured one. */
  readonly store: Store | null;
  readonly emit: TrainingListener;
  readonly signal: AbortSignal;
  /** Registers the upstreams of the run at its external gateway. @default the operator of the gateway does */
  readonly registerUpstreams?: RegisterUpstreams | null;
  /** Called for each opened resource. Close them in reverse order. */
  readonly onOpen: (close: Closer) => void;
}

/** A run in its open store. */
export interface OpenRun extends FoundRun {
  readonly store: Store;
  /** The configuration of the present stage. */
  readonly config: ResolvedConfig;
  readonly tasks: RunTasks;
  /** The stored rollouts to train on; null for a run that collects rollouts. */
  readonly data: StoredData | null;
}

/** Reads the tasks, opens the store, and finds or creates the run. */
export async function openRun(options: SessionOptions): Promise<OpenRun> {
  const { config } = options;
  const { test, validation } = config.tasks;
  const readHeldOut = await readTaskFiles({ heldOut: test, validation }, config.taskSchema);
  const readGuards = await readTaskFiles(config.evaluation.guards, config.taskSchema);
  const stages = stageConfigs(config);
  const readTrain = await Promise.all(
    stages.map(async ({ tasks: { train }, taskSchema }, index) => {
      const schema = config.stages[index]?.trainSchema ?? taskSchema;
      return await readTaskFiles({ train }, schema);
    }),
  );
  const sources: TrainingSource[] = [];
  let measured: Omit<RunTasks, 'train'> = { heldOut: [], validation: null, guards: {} };
  const found = await findInStore(options, config, async (store) => {
    const stored = { store, untilMs: await dataEndMs(store, options) };
    measured = { ...(await readHeldOut(stored)), guards: await readGuards(stored) };
    for (const [index, stage] of stages.entries()) {
      const { train = [] } = (await readTrain[index]?.(stored)) ?? {};
      sources.push(await openSource(stage, { ...stored, train }));
    }
    const tasks = { train: sources.map(({ print }) => print), ...fingerprintsOf(measured) };
    return await findOrCreateRun(store, { ...options, tasks, dataUntilMs: stored.untilMs });
  });
  const present = presentConfig(config, found.state);
  const { data = null, train = [] } = sources[present.stage?.index ?? 0] ?? {};
  return { ...found, config: present, data, tasks: { ...measured, train } };
}

/** What a stage is trained on. */
interface TrainingSource {
  readonly data: StoredData | null;
  readonly train: RunTasks['train'];
  /** Identifies the tasks or the data. */
  readonly print: string;
}

async function openSource(
  stage: ResolvedConfig,
  { store, train, untilMs }: { readonly store: Store; readonly train: RunTasks['train']; readonly untilMs: number },
): Promise<TrainingSource> {
  if (stage.data === null) return { data: null, train, print: fingerprint(train) };
  const data = await openStoredData(store, stage.data, { untilMs, reward: stage.reward });
  return { data, train: data.tasks, print: data.fingerprint };
}

/** The time until which rollouts are data or tasks of a run: that of its first start. */
export async function dataEndMs(store: Store, { resume }: Pick<RunChoice, 'resume'>): Promise<number> {
  if (resume === null) return systemClock.now();
  const run = await store.getRun(resume);
  const recorded = run.config['dataUntilMs'];
  return typeof recorded === 'number' ? recorded : run.createTimeMs;
}

/** Maximum wait for an unavailable service, and callback that reports the wait. */
export function waitOptions(
  { emit, signal }: Pick<SessionOptions, 'signal'> & { readonly emit: ServiceListener },
  { limits }: Pick<ResolvedConfig, 'limits'>,
): ServiceWait {
  return { timeoutMs: limits.outageToleranceMs, onWait: (message) => emit({ type: 'warning', message }), signal };
}

/** Opens the store if necessary, and finds a run in it. The lease of the run is released before the store closes. */
export async function findInStore<TState>(
  options: Pick<SessionOptions, 'store' | 'onOpen' | 'signal'> & { readonly emit: ServiceListener },
  config: Pick<ResolvedConfig, 'storeUrl' | 'storeApiKey' | 'limits'>,
  find: (store: Store) => Promise<Found<TState>>,
): Promise<Found<TState> & { readonly store: Store }> {
  const { store: given, onOpen } = options;
  const { storeUrl, storeApiKey, limits } = config;
  const location = { url: storeUrl, apiKey: storeApiKey, unreachableAfterMs: limits.outageToleranceMs };
  const store = given ?? (await waitForStore(location, waitOptions(options, config)));
  if (given === null) onOpen(() => store.close());
  const found = await find(store);
  // Ignored when the store is unreachable: a lease that is not renewed expires.
  onOpen(() => found.lease.release().catch(() => undefined));
  return { store, ...found };
}

/** Opens runtime, model, gateway and runner for a run, in this order. */
export async function openSession(opened: OpenRun, options: Omit<SessionOptions, 'config'>): Promise<TrainingSession> {
  const { emit, signal, onOpen } = options;
  const config = { ...opened.config, attemptTokens: await requiredAttemptTokens(opened.config) };
  const { store, run, state, lease } = opened;
  const failures = new AbortController();
  const onFailure = (error: AgentLightningError): void => failures.abort(error);
  signal.throwIfAborted();
  const wait = waitOptions(options, config);
  const connection = await openRuntime(config.runtime, { dataDir: state.dataDir, ...wait });
  onOpen(connection.close);
  void connection.died.then(onFailure);
  signal.throwIfAborted();
  const capabilities = await connection.runtime.capabilities();
  for (const stage of stageConfigs(opened.config)) assertTrainable(stage, capabilities);
  const { runtime, inferenceKey } = connection;
  const source = { runtime, config: { ...config, seed: state.seed }, run, state, capabilities };
  const { policies, gateway, resources, checks } = await servePolicies({
    ...source,
    store,
    inferenceKey,
    wait,
    registerUpstreams: options.registerUpstreams ?? null,
    onOpen,
  });
  const guided: SessionPolicy[] = [];
  for (const policy of policies)
    guided.push({ ...policy, teacher: await openTeacher(policy, { ...source, store, inferenceKey }) });
  const { baseModels } = state;
  const own = policies.map((policy) => [policyKey(policy), trainedBase(policy)] as const);
  const described = { ...baseModels, ...Object.fromEntries(own) };
  const { resourcesId } = await store.addResources({ ...judgeResources(config.rewards), ...resources });
  await cancelUnfinished(store, { runId: run.runId });
  if (config.hasAgent) onOpen(startRunner({ config, store, run, emit, onFailure }));
  const leaseCheck: HealthCheck = { what: 'the store', check: lease.renew };
  const health = watchHealth({
    checks: [...storeChecks(config), leaseCheck, ...checks],
    intervalMs: leaseIntervalMs,
    outageToleranceMs: config.limits.outageToleranceMs,
    onOutage: ({ message }) => emit({ type: 'warning', message: `${message}; waiting until it responds` }),
    onFailure,
  });
  onOpen(health.stop);
  return {
    ...opened,
    data: sessionData(opened.data, { config, policies, inferenceKey }),
    config: { ...config, seed: state.seed },
    state: { ...state, baseModels: described },
    policies: guided,
    groupSize: groupSizeOf(config.policies),
    capabilities,
    resourcesId,
    failure: failures.signal,
    assertHealthy: health.assertHealthy,
    pauseCalls: gateway.pauseCalls,
    emit,
    emittedWarnings: new Set(),
    workedSeconds: stopwatch(state.effort.seconds),
    stepHistory: await readStepRecords(store, run.runId, {
      firstStep: stepsBefore(config),
      finishedStep: state.finishedStep,
    }),
    signal,
  };
}

/** The base of a policy, as its origin is recorded. */
function trainedBase({ base: { name, license } }: ServedSessionPolicy): TrainedBase {
  return { name, license };
}

/** The stored data of a session, whose messages the first policy encodes. */
function sessionData(
  data: StoredData | null,
  {
    config,
    policies: [policy],
    inferenceKey,
  }: {
    readonly config: ResolvedConfig;
    readonly policies: readonly ServedSessionPolicy[];
    readonly inferenceKey: OpenRuntime['inferenceKey'];
  },
): SessionData | null {
  if (data === null || policy === undefined) return null;
  const { endpoint } = policy;
  const target = { baseUrl: endpoint.baseUrl, model: endpoint.model, apiKey: inferenceKey(endpoint) };
  const needsSampling = needsSamplingLogprobs(config.algorithm);
  return { read: (groups) => data.read(groups, { endpoint: target, needsSampling }) };
}

/** Measures the time from now on, in seconds, beginning with that of earlier processes. */
export function stopwatch(earlierSeconds: number): () => number {
  const startedMs = systemClock.now();
  return () => earlierSeconds + (systemClock.now() - startedMs) / 1000;
}
