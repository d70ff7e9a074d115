import { createAlgorithm } from '@agentlightning/algorithms';
import { AgentLightningError, type Store } from '@agentlightning/core';
import { loadTasks } from '../config/load-tasks.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { assertReachable } from '../runtime/assert-reachable.ts';
import { openAnyStore } from '../runtime/open-any-store.ts';
import { type OpenGateway, openGateway } from '../runtime/open-gateway.ts';
import { openRuntime } from '../runtime/open-runtime.ts';
import { type HealthCheck, watchHealth } from '../runtime/watch-health.ts';
import type { TrainingListener } from '../training-event.ts';
import { dropUnfinished } from './collect-rollouts.ts';
import { type FoundRun, findOrBeginRun, type RunChoice } from './find-or-begin-run.ts';
import { type OpenModels, openModels } from './open-models.ts';
import type { RunTasks } from './rollout-shape.ts';
import { leaseIntervalMs } from './run-lease.ts';
import { startRunner } from './start-runner.ts';
import type { TrainingSession } from './training-session.ts';

/** Closes something that was opened. */
export type Closer = () => Promise<void> | void;

/** What opening a session needs. */
export interface SessionOptions extends RunChoice {
  /** A store that is open already and stays open; null opens the configured one. */
  readonly store: Store | null;
  readonly emit: TrainingListener;
  readonly signal: AbortSignal;
  /** Called for everything that is opened; to be closed in the opposite order. */
  readonly onOpen: (close: Closer) => void;
}

/** A run in its store, before anything else is opened. */
export interface OpenRun extends FoundRun {
  readonly store: Store;
  readonly tasks: RunTasks;
}

/** Reads the tasks, opens the store, and finds or begins the run. */
export async function openRun(options: SessionOptions): Promise<OpenRun> {
  const { config } = options;
  const tasks: RunTasks = {
    train: await loadTasks(config.tasks.train, config.taskSchema),
    heldOut: await loadTasks(config.tasks.test, config.taskSchema),
  };
  const store = options.store ?? (await openAnyStore({ url: config.storeUrl, apiKey: config.storeApiKey }));
  if (options.store === null) options.onOpen(() => store.close());
  const found = await findOrBeginRun(store, { ...options, tasks });
  // A store that is gone is not told; the lease is not renewed any more, which says the same.
  options.onOpen(() => found.lease.release().catch(() => undefined));
  return { store, tasks, ...found };
}

/** Opens runtime, model, gateway and runner for a run, in this order. */
export async function openSession(opened: OpenRun, options: SessionOptions): Promise<TrainingSession> {
  const { config, emit, signal, onOpen } = options;
  const { store, run, state, lease } = opened;
  const failures = new AbortController();
  const onFailure = (error: AgentLightningError): void => failures.abort(error);
  signal.throwIfAborted();
  const connection = await openRuntime(config.runtime, state.dataDir);
  onOpen(connection.close);
  void connection.died.then(onFailure);
  signal.throwIfAborted();
  const capabilities = await connection.runtime.capabilities();
  const models = await openModels({ runtime: connection.runtime, config, run, state, capabilities });

  const upstream = await models.policy.endpoint();
  const gateway = await openGateway({ config, store, upstream });
  onOpen(gateway.close);
  const resourcesId = await publishResources(store, gateway, config);
  await dropUnfinished(store, run.runId);
  onOpen(startRunner({ config, store, run, emit, onFailure }));
  const checks = healthChecks({ models, modelUrl: upstream.baseUrl, gateway });
  const lookAtLease: HealthCheck = { what: 'the store', check: lease.renew };
  const health = watchHealth({ checks: [lookAtLease, ...checks], intervalMs: leaseIntervalMs, onFailure });
  onOpen(health.stop);
  return {
    ...opened,
    config: { ...config, seed: state.seed },
    algorithm: createAlgorithm(config.algorithm),
    model: models.policy,
    reference: models.reference,
    capabilities,
    resourcesId,
    failure: failures.signal,
    assertHealthy: health.assertHealthy,
    emit,
    signal,
  };
}

function healthChecks(options: {
  readonly models: OpenModels;
  readonly modelUrl: string;
  readonly gateway: OpenGateway;
}): readonly HealthCheck[] {
  const { models, modelUrl, gateway } = options;
  return [
    { what: 'the training runtime', check: () => assertModelIsThere(models) },
    {
      what: 'the model endpoint',
      check: () =>
        assertReachable({
          what: `the model endpoint ${modelUrl}`,
          url: `${modelUrl}/models`,
          // It may ask for a key: then it is there.
          isFine: (status) => status < 500,
          remedy: 'See what the training runtime says of itself, then `agl train --resume <run>`.',
        }),
    },
    { what: 'the gateway', check: gateway.check },
  ];
}

/** A runtime that was restarted answers, but has lost the model. */
async function assertModelIsThere({ policy }: OpenModels): Promise<void> {
  try {
    await policy.state();
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND') throw error;
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `the training runtime has lost model "${policy.modelId}": it was restarted`,
      remedy: 'Go on from the last checkpoint with `agl train --resume <run>`.',
      cause: error,
    });
  }
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
