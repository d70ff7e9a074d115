import { createAlgorithm } from '@agentlightning/algorithms';
import type { Run, Store } from '@agentlightning/core';
import { loadTasks } from '../config/load-tasks.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { openAnyStore } from '../runtime/open-any-store.ts';
import { type OpenGateway, openGateway } from '../runtime/open-gateway.ts';
import { openRuntime } from '../runtime/open-runtime.ts';
import { watchHealth } from '../runtime/watch-health.ts';
import type { TrainingListener } from '../training-event.ts';
import { requeueInterrupted } from './collect-rollouts.ts';
import { findOrBeginRun, type RunChoice } from './find-or-begin-run.ts';
import { openModels } from './open-models.ts';
import type { RunState } from './run-state.ts';
import { startRunner } from './start-runner.ts';
import type { TrainingSession } from './training-session.ts';

/** What opening a session needs. */
export interface OpenSessionOptions extends RunChoice {
  /** A store that is open already and stays open; null opens the configured one. */
  readonly store: Store | null;
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
  const store = options.store ?? (await openAnyStore({ url: config.storeUrl, apiKey: config.storeApiKey }));
  if (options.store === null) closers.push(() => store.close());
  const { run, state } = await findOrBeginRun(store, options);

  const connection = await openRuntime(config.runtime, state.dataDir);
  closers.push(connection.close);
  const capabilities = await connection.runtime.capabilities();
  const models = await openModels({ runtime: connection.runtime, config, run, state, capabilities });

  const gateway = await openGateway({ config, store, upstream: await models.policy.endpoint() });
  closers.push(gateway.close);
  const resourcesId = await publishResources(store, gateway, config);
  if (options.resume !== null) await requeueUnfinished(store, run, { state, resourcesId });

  const runner = startRunner({ config, store, run, emit });
  closers.push(runner.stop);
  const health = watchHealth([
    { what: 'the training runtime', check: async () => void (await models.policy.state()) },
    { what: 'the gateway', check: gateway.check },
  ]);
  closers.push(health.stop);
  return {
    config: { ...config, seed: state.seed },
    store,
    run,
    state,
    algorithm: createAlgorithm(config.algorithm),
    model: models.policy,
    reference: models.reference,
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
