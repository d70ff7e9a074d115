import { AgentLightningError, type Resource, type Store } from '@agentlightning/core';
import { readSecret, type SecretVariable, secretText } from '@agentlightning/core/settings';
import type { ProxyLlmResource } from '@agentlightning/core/store';
import { environmentVariables } from '../config/environment.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { keySourceText, type ResolvedEndpoint } from '../config/resolve-prompt-search.ts';
import { isPromptSearch } from '../config/resolve-run.ts';
import { judgeResources } from '../config/reward-definition.ts';
import { servePolicies } from '../opening/serve-policies.ts';
import { openSearchModel } from '../prompt-search/open-search-model.ts';
import { acquireRunLease, leaseIntervalMs } from '../run/run-lease.ts';
import { initialRunState } from '../run/run-state.ts';
import { openRuntime } from '../runtime/open-runtime.ts';
import { storeChecks } from '../runtime/wait-for-store.ts';
import { type HealthCheck, watchHealth } from '../runtime/watch-health.ts';
import type { Closer } from '../session/close-all.ts';
import type { EndpointModel } from './evaluate-options.ts';
import type { EvaluationSession } from './evaluation-session.ts';
import type { Subject } from './subject.ts';

/** A subject whose model responds. */
export interface OpenSubject {
  /** The resources of its rollouts: its model behind the gateway, and its prompts. */
  readonly resourcesId: string;
  /** Resolves when the services that its rollouts depend on respond; rejects when their outage lasts too long. */
  readonly assertHealthy: () => Promise<void>;
}

/**
 * Opens model and gateway of a subject, and waits until they respond.
 *
 * @param onOpen - called for each opened resource; close them in reverse order
 * @throws AgentLightningError UNREACHABLE or RUNTIME_UNAVAILABLE for a model that does not respond in time, CONFLICT while the
 *   run of a checkpoint is being trained
 */
export async function openSubject(
  subject: Subject,
  session: EvaluationSession,
  onOpen: (close: Closer) => void,
): Promise<OpenSubject> {
  const { settings, store, emit, onFailure } = session;
  const { resources, checks } = await openModelOf(subject, session, onOpen);
  const health = watchHealth({
    checks: [...storeChecks(settings.shared), { what: 'the store', check: session.lease.renew }, ...checks],
    intervalMs: leaseIntervalMs,
    outageToleranceMs: settings.shared.limits.outageToleranceMs,
    onOutage: ({ message }) => emit({ type: 'warning', message: `${message}; waiting until it responds` }),
    onFailure,
  });
  onOpen(health.stop);
  await health.assertHealthy();
  const resourcesId = await publish(store, { ...judgeResources(settings.shared.rewards), ...resources }, subject);
  return { resourcesId, assertHealthy: health.assertHealthy };
}

/** The model of a subject behind a gateway: resources by policy name. */
interface ServedModel {
  readonly resources: Readonly<Record<string, ProxyLlmResource>>;
  readonly checks: readonly HealthCheck[];
}

async function openModelOf(
  { model }: Subject,
  session: EvaluationSession,
  onOpen: (close: Closer) => void,
): Promise<ServedModel> {
  const { settings } = session;
  const { config, endpoint } = settings;
  if (model.type === 'endpoint' && endpoint !== null)
    return await openFixed(
      { ...resolvedEndpoint(endpoint, 'agl eval'), isScripted: settings.isScripted },
      session,
      onOpen,
    );
  if (isPromptSearch(config)) return await openFixed(config.runtime, session, onOpen);
  return await openTrained(model.type === 'checkpoint' ? model : null, { config, session, onOpen });
}

/** Opens a model that is not trained: an endpoint, or the base model of a prompt search. */
async function openFixed(
  runtime: Parameters<typeof openSearchModel>[0]['config']['runtime'],
  { settings, store, run, wait, onFailure }: EvaluationSession,
  onOpen: (close: Closer) => void,
): Promise<ServedModel> {
  const { shared, sampling, evaluation } = settings;
  const config = { runtime, shared, sampling, evaluation };
  const opened = await openSearchModel({ config, store, run, seed: shared.seed, wait, onOpen, onFailure });
  return { resources: { policy: opened.resource }, checks: opened.checks };
}

/** Opens the models of a training configuration, as they were before training or at a checkpoint. */
async function openTrained(
  checkpoint: Extract<Subject['model'], { readonly type: 'checkpoint' }> | null,
  opening: {
    readonly config: ResolvedConfig;
    readonly session: EvaluationSession;
    readonly onOpen: (close: Closer) => void;
  },
): Promise<ServedModel> {
  const { config, session, onOpen } = opening;
  const { store, wait, onFailure } = session;
  const { run, state } = checkpoint ?? { run: session.run, state: initialRunState(config) };
  const leaseChecks = checkpoint === null ? [] : [await leaseOf(run.runId, store, onOpen)];
  const connection = await openRuntime(config.runtime, { dataDir: config.dataDir, ...wait });
  onOpen(connection.close);
  void connection.died.then(onFailure);
  const capabilities = await connection.runtime.capabilities();
  const source = { runtime: connection.runtime, config, run, state, capabilities };
  const { inferenceKey } = connection;
  const served = await servePolicies({ ...source, inferenceKey, store, wait, onOpen });
  for (const { model } of served.policies) onOpen(() => model.unload());
  return { resources: served.resources, checks: [...leaseChecks, ...served.checks] };
}

/** A checkpoint is loaded into the model of its run, which a trainer must not use at the same time. */
async function leaseOf(runId: string, store: Store, onOpen: (close: Closer) => void): Promise<HealthCheck> {
  const lease = await acquireRunLease(store, runId);
  onOpen(() => lease.release().catch(() => undefined));
  return { what: 'the store', check: lease.renew };
}

/**
 * An endpoint with its key.
 *
 * @param command - the command of the example in an error message
 * @throws AgentLightningError CONFIG when the variable of the key is not set
 */
export function resolvedEndpoint({ baseUrl, model, apiKey: secret }: EndpointModel, command: string): ResolvedEndpoint {
  const apiKey = secret === undefined ? null : readSecret(secret, environmentVariables());
  if (typeof secret === 'object' && apiKey === null) throw withoutKey(secret, command);
  const keySource = keySourceText(secret, '`--key-env`, or `apiKey` of the endpoint');
  return { type: 'endpoint', baseUrl, model, apiKey, keySource, maxConcurrent: null };
}

function withoutKey(secret: SecretVariable, command: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${secretText(secret)}, which the settings of the endpoint name, is not set`,
    remedy: `Set it: ${secret.env}=… ${command} ….`,
  });
}

async function publish(
  store: Store,
  resources: Readonly<Record<string, Resource>>,
  { prompts }: Subject,
): Promise<string> {
  if (prompts === null) return (await store.addResources({ ...resources })).resourcesId;
  // A prompt may have the name of the model's resource.
  const entries = Object.entries(resources).map(([name, resource]): [string, Resource] => [
    Object.hasOwn(prompts, name) ? `agentlightning-model-${name}` : name,
    resource,
  ]);
  return (await store.addResources({ ...prompts, ...Object.fromEntries(entries) })).resourcesId;
}
