import { AgentLightningError, type JsonObject, type Store } from '@agentlightning/core';
import type { Replayer, ReplayModel, ReplayRequest } from '@agentlightning/dashboard';
import { needsValueHead } from '../config/policy-learner.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { chooseCheckpoint } from '../run/choose-checkpoint.ts';
import { acquireRunLease, leaseIntervalMs } from '../run/run-lease.ts';
import { isSearchRun, type RunState, readRunState } from '../run/run-state.ts';
import { openRuntime } from '../runtime/open-runtime.ts';
import { withClosers } from '../session/close-all.ts';
import { openModel } from '../session/open-models.ts';
import { type ReplayEndpoint, replayCompletion } from './replay-completion.ts';

/** Id of the model at the endpoint. */
const endpointId = 'endpoint';

/** The models of a replayer. */
export interface ReplaySources {
  readonly store: Store;
  /** The configuration of the runs whose checkpoints are loaded; null for no checkpoints. */
  readonly config: ResolvedConfig | null;
  /** A model that runs already; null for none. */
  readonly endpoint: ReplayEndpoint | null;
  readonly onWarning: (message: string) => void;
}

/** Opens a replayer: checkpoints of runs, loaded for each request into the runtime of the configuration, and an endpoint. */
export function openReplayer(sources: ReplaySources): Replayer {
  const { store, config, endpoint } = sources;
  let queue: Promise<unknown> = Promise.resolve();
  return {
    models: async (runId) => {
      const saved = config === null || runId === null ? [] : await checkpointsOf(store, runId, config);
      return endpoint === null ? saved : [...saved, { id: endpointId, label: `endpoint ${endpoint.model}` }];
    },
    complete: async (request) => {
      if (request.model === endpointId && endpoint !== null) return await replayCompletion(endpoint, request);
      if (config === null || request.runId === null) throw unknownModel(request);
      const { runId } = request;
      // One after another: a run has one model in the runtime.
      const result = queue.then(() => replayCheckpoint({ ...request, runId }, { ...sources, config }));
      queue = result.catch(() => undefined);
      return await result;
    },
  };
}

async function checkpointsOf(store: Store, runId: string, config: ResolvedConfig): Promise<readonly ReplayModel[]> {
  const run = await store.getRun(runId);
  if (isSearchRun(run) || run.state['kind'] === 'evaluation') return [];
  const state = readRunState(run, config.dataDir);
  if (state.checkpoints.length === 0) return [];
  return [
    { id: 'final', label: `final checkpoint (step ${state.finalStep ?? state.checkpoint?.step ?? 0})` },
    { id: 'best', label: `best checkpoint (step ${chooseCheckpoint(state, 'best').step})` },
    ...state.checkpoints.map(({ step }) => ({ id: String(step), label: `checkpoint of step ${step}` })),
  ];
}

/** Loads a checkpoint into the model of its run, under the lease of the run, and unloads it after the response. */
async function replayCheckpoint(
  request: ReplayRequest & { readonly runId: string },
  { store, config, onWarning }: ReplaySources & { readonly config: ResolvedConfig },
): Promise<JsonObject> {
  const { runId, model: choice } = request;
  request.signal.throwIfAborted();
  const run = await store.getRun(runId);
  const saved = readRunState(run, config.dataDir);
  const state: RunState = { ...saved, checkpoint: chooseCheckpoint(saved, choice) };
  const { policy, index } = policyOf(config, request.policy);
  return await withClosers(
    ({ type, ...event }) => (type === 'warning' && 'message' in event ? onWarning(event.message) : undefined),
    async (onOpen) => {
      const lease = await acquireRunLease(store, runId);
      onOpen(() => lease.release());
      const renewal = setInterval(() => void lease.renew().catch(() => undefined), leaseIntervalMs);
      onOpen(() => clearInterval(renewal));
      const timeoutMs = config.limits.outageToleranceMs;
      const connection = await openRuntime(config.runtime, { dataDir: config.dataDir, timeoutMs, onWait: onWarning });
      onOpen(connection.close);
      const { runtime, inferenceKey } = connection;
      const source = { runtime, config, run, state, capabilities: await runtime.capabilities() };
      const { model } = await openModel(source, { policy, index, hasValueHead: needsValueHead(policy) });
      onOpen(() => model.unload());
      const endpoint = await model.endpoint();
      return await replayCompletion({ ...endpoint, apiKey: inferenceKey(endpoint) }, request);
    },
  );
}

function policyOf({ policies }: ResolvedConfig, name: string | null) {
  const trained = policies.findIndex((policy) => policy.algorithm !== null);
  const named = policies.findIndex((policy) => policy.name === name);
  const index = named === -1 ? trained : named;
  const policy = policies[index];
  if (policy !== undefined) return { policy, index };
  throw new AgentLightningError({ code: 'CONFIG', message: 'the configuration of --replay trains no policy' });
}

function unknownModel({ model }: ReplayRequest): AgentLightningError {
  return new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the dashboard has no model "${model}" for a replay`,
    remedy: 'Start it with `agl dashboard --replay <config>` for checkpoints, or with --endpoint and --model.',
  });
}
