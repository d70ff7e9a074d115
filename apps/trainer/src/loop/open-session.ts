import path from 'node:path';
import { createAlgorithm } from '@agentlightning/algorithms';
import {
  AgentLightningError,
  newId,
  type JsonObject,
  type Run,
  type RuntimeCapabilities,
  type Store,
  type TrainableModel,
  type TrainingRuntime,
} from '@agentlightning/core';
import { connectRuntime } from '@agentlightning/runtime';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { loadTasks } from '../config/load-tasks.ts';
import { launchEmbeddedRuntime, type LaunchedRuntime } from '../runtime/embedded-runtime.ts';
import { openAnyStore } from '../runtime/open-any-store.ts';
import { openGateway, type OpenGateway } from '../runtime/open-gateway.ts';
import { watchHealth } from '../runtime/watch-health.ts';
import type { TrainingListener } from '../training-event.ts';
import { requeueInterrupted } from './collect-rollouts.ts';
import { initialRunState, type RunState, readRunState, writeRunState } from './run-state.ts';
import { startRunner } from './start-runner.ts';
import type { TrainingSession } from './training-session.ts';

/** What opening a session needs besides the configuration. */
export interface OpenSessionOptions {
  readonly config: ResolvedConfig;
  /** The id of a new run; null draws one. */
  readonly runId: string | null;
  /** The run to go on with; null begins a new one. */
  readonly resume: string | null;
  readonly emit: TrainingListener;
  readonly signal: AbortSignal;
}

/** A session, and how to close everything it opened. */
export interface OpenSession {
  readonly session: TrainingSession;
  readonly close: () => Promise<void>;
}

/**
 * Opens store, runtime, model, gateway and runner, in this order, and finds or begins the run.
 * When something fails on the way, what was opened is closed again.
 */
export async function openSession(options: OpenSessionOptions): Promise<OpenSession> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    return { session: await build(options, closers), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(options: OpenSessionOptions, closers: (() => Promise<void>)[]): Promise<TrainingSession> {
  const { config, emit, signal } = options;
  const trainTasks = await loadTasks(config.tasks.train, config.taskSchema);
  const heldOutTasks = await loadTasks(config.tasks.test, config.taskSchema);
  const store = await openAnyStore({ url: config.storeUrl, apiKey: config.storeApiKey });
  closers.push(() => store.close());
  const { run, state } = await findOrBeginRun(store, options);

  const connection = await openRuntime(config, state.dataDir);
  closers.push(connection.close);
  const capabilities = await connection.runtime.capabilities();
  const model = await openModel({ connection, config, run, state, capabilities });

  const gateway = await openGateway({ config, store, upstream: await model.endpoint() });
  closers.push(gateway.close);
  const resourcesId = await publishResources(store, gateway, config);
  if (options.resume !== null) await requeueUnfinished(store, run, { state, resourcesId });

  const runner = startRunner({ config, store, run, emit });
  closers.push(runner.stop);
  const health = watchHealth([
    { what: 'the training runtime', check: async () => void (await model.state()) },
    { what: 'the gateway', check: gateway.check },
  ]);
  closers.push(health.stop);
  return {
    config: { ...config, seed: state.seed },
    store,
    run,
    state,
    algorithm: createAlgorithm(config.algorithm),
    model,
    capabilities,
    trainTasks,
    heldOutTasks,
    resourcesId,
    failure: Promise.race([connection.died, health.failed, runner.failed]),
    assertHealthy: health.assertHealthy,
    emit,
    signal,
  };
}

async function findOrBeginRun(store: Store, options: OpenSessionOptions): Promise<{ run: Run; state: RunState }> {
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

interface RuntimeConnection {
  readonly runtime: TrainingRuntime;
  readonly died: Promise<AgentLightningError>;
  readonly close: () => Promise<void>;
}

async function openRuntime(config: ResolvedConfig, dataDir: string): Promise<RuntimeConnection> {
  if (config.runtime.type === 'grpc') {
    const { address, apiKey } = config.runtime;
    const runtime = await connectRuntime({ address, ...(apiKey === undefined ? {} : { apiKey }) });
    return { runtime, died: new Promise(() => undefined), close: () => runtime.close() };
  }
  const launched: LaunchedRuntime = await launchEmbeddedRuntime({ checkpointDir: path.join(dataDir, 'checkpoints') });
  try {
    const runtime = await connectRuntime({ address: launched.address });
    const close = async (): Promise<void> => {
      await runtime.close();
      await launched.close();
    };
    return { runtime, died: launched.died, close };
  } catch (error) {
    await launched.close();
    throw error;
  }
}

async function openModel(options: {
  readonly connection: RuntimeConnection;
  readonly config: ResolvedConfig;
  readonly run: Run;
  readonly state: RunState;
  readonly capabilities: RuntimeCapabilities;
}): Promise<TrainableModel> {
  const { connection, config, run, state, capabilities } = options;
  const fallback = config.runtime.type === 'embedded' ? 'tiny-chat' : capabilities.models[0]?.name;
  const model = await connection.runtime.createModel({
    baseModel: config.runtime.model ?? fallback ?? 'default',
    modelId: run.runId,
    seed: state.seed,
  });
  if (state.checkpoint !== null) {
    const operation = await model.loadCheckpoint(state.checkpoint.uri);
    await operation.result;
  }
  return model;
}

async function publishResources(store: Store, gateway: OpenGateway, config: ResolvedConfig): Promise<string> {
  const { temperature, topP, maxTokens } = config.sampling;
  const snapshot = await store.addResources({
    policy: {
      resourceType: 'proxy_llm',
      endpoint: gateway.baseUrl,
      model: gateway.model,
      apiKey: null,
      samplingParameters: {
        ...(temperature === undefined ? {} : { temperature }),
        ...(topP === undefined ? {} : { top_p: topP }),
        ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      },
    },
  });
  return snapshot.resourcesId;
}

/** What was under way when the run was interrupted goes on with the new gateway's address. */
async function requeueUnfinished(
  store: Store,
  run: Run,
  options: { readonly state: RunState; readonly resourcesId: string },
): Promise<void> {
  const { items } = await store.queryRollouts({
    runId: run.runId,
    statusIn: ['queuing', 'requeuing', 'preparing', 'running', 'failed', 'cancelled'],
  });
  const { resourcesId } = options;
  for (const rollout of items) await store.updateRollout(rollout.rolloutId, { resourcesId });
  const phases = new Set(items.map(({ metadata }) => String(metadata?.['phase'] ?? '')));
  for (const phase of phases) {
    if (isOpenPhase(phase, options.state)) await requeueInterrupted(store, run.runId, phase);
  }
}

/** Whether a phase is still to be finished: its failed rollouts deserve another attempt. */
function isOpenPhase(phase: string, state: RunState): boolean {
  if (phase === 'before') return state.before === null;
  if (phase === 'after') return state.after === null;
  const step = /^step-(\d+)$/.exec(phase)?.[1];
  return step !== undefined && Number(step) > state.finishedStep;
}
