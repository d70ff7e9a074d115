import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import { addressText, parseJsonObject } from '@agentlightning/core/internal';
import type { InferenceEndpoint } from '@agentlightning/core/training-runtime';
import { type GatewayOptions, serveGateway, type Upstream } from '@agentlightning/gateway';
import { z } from 'zod';
import { areInsecureKeysAllowed } from '../config/environment.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { ResolvedEvaluation } from '../config/sections/evaluation-config.ts';
import { readReachable } from './assert-reachable.ts';
import type { OpenRuntime } from './open-runtime.ts';
import { registerGateway } from './register-gateway.ts';
import { type ServiceWait, waitForService } from './wait-for-service.ts';

/** A gateway that agents can call. */
export interface OpenGateway {
  /** The base URL, including `/v1`. */
  readonly baseUrl: string;
  /** Throws when it does not respond. */
  readonly check: () => Promise<void>;
  /** Holds new calls while an action runs. A gateway in another process admits them: the runtime orders them itself. */
  readonly pauseCalls: <TResult>(action: () => Promise<TResult>) => Promise<TResult>;
  readonly close: () => Promise<void>;
}

/** Maximum time for which new calls are held while weights are published, in milliseconds; then they are rejected. */
const holdMs = 600_000;

/** A policy behind the gateway. */
export interface ServedPolicy {
  readonly endpoint: InferenceEndpoint;
  /** Null for an unnamed policy. */
  readonly name: string | null;
  /** The agents whose calls it receives; calls of other agents are sent to the first policy. */
  readonly agents: readonly string[];
  /** Whether its base is trained on images. */
  readonly base: { readonly readsImages: boolean };
  /** Further names by which agents request it. */
  readonly modelNames: readonly string[];
}

/** Registers the upstreams of a run at the external gateway, with the sampling of the run. */
export type RegisterUpstreams = (upstreams: readonly Upstream[]) => Promise<void>;

/** Starts a gateway in this process for the policies, or uses the configured external one. */
export async function openGateway(options: {
  readonly config: ResolvedConfig;
  readonly store: Store;
  readonly run: Pick<Run, 'runId'>;
  readonly policies: readonly ServedPolicy[];
  readonly inferenceKey: OpenRuntime['inferenceKey'];
  readonly wait: ServiceWait;
  /** Null for an external gateway whose operator registers the upstreams. */
  readonly registerUpstreams: RegisterUpstreams | null;
}): Promise<OpenGateway> {
  const { config, store, run, policies, inferenceKey, wait, registerUpstreams } = options;
  const upstream = policies.map(({ endpoint, name, agents, modelNames, base }) => ({
    baseUrl: endpoint.baseUrl,
    model: endpoint.model,
    agents,
    readsImages: base.readsImages,
    apiKey: inferenceKey(endpoint),
    names: [...(name === null ? [] : [name]), ...modelNames],
  }));
  const { url, firstByteTimeoutMs, ...own } = config.gateway;
  if (url !== null) {
    const models = policies.map(({ endpoint }) => endpoint.model);
    const gateway = await externalGateway(url, wait, models);
    const sampling = seededSampling(config);
    await registerUpstreams?.(upstream.map((each) => ({ ...each, sampling })));
    return gateway;
  }
  return await ownGateway({
    store,
    runId: run.runId,
    upstream,
    attemptTokens: config.attemptTokens,
    ...own,
    ...(firstByteTimeoutMs === null ? {} : { firstByteTimeoutMs }),
    sampling: seededSampling(config),
    onlyKnownModels: policies.some(({ modelNames }) => modelNames.length > 0),
  });
}

/** Starts a gateway in this process. */
export async function ownGateway({
  runId,
  ...options
}: GatewayOptions & { readonly store: Store; readonly runId: string }): Promise<OpenGateway> {
  const allowInsecureKey = areInsecureKeysAllowed();
  const upstream = [options.upstream].flat().map((each) => ({ ...each, allowInsecureKey }));
  const gateway = await serveGateway({ ...options, upstream });
  const unregister = registerGateway(gateway, { store: options.store, runId });
  let pauses = 0;
  return {
    baseUrl: `${gateway.url}/v1`,
    check: async () => undefined,
    // Several policies may publish at a time.
    pauseCalls: async (action) => {
      pauses += 1;
      if (pauses === 1) gateway.pause({ reason: 'new weights are being published', holdMs });
      try {
        return await action();
      } finally {
        pauses -= 1;
        if (pauses === 0) gateway.resume();
      }
    },
    close: async () => {
      await gateway.close();
      await unregister();
    },
  };
}

/** Sampling options by mode. Equal calls of runs with the same seed have equal completions. */
export function seededSampling({
  sampling,
  evaluation,
  seed,
}: Pick<ResolvedConfig, 'sampling' | 'seed'> & { readonly evaluation: ResolvedEvaluation }): NonNullable<
  GatewayOptions['sampling']
> {
  const measured = { ...evaluation.sampling, seed };
  return { train: { ...sampling, seed }, val: measured, test: measured };
}

/**
 * Uses an external gateway, and waits until it responds. Its check throws UNAUTHENTICATED once the key of an upstream has been
 * rejected since.
 *
 * @param models - the models that agents call; those of other runs do not matter
 */
export async function externalGateway(
  url: string,
  wait: ServiceWait,
  models: readonly string[] = [],
): Promise<OpenGateway> {
  const root = url.replace(/\/+$/, '').replace(/\/v1$/, '');
  const what = `the gateway at ${addressText(root)}`;
  const remedy = 'Restart it (`agl gateway`), then `agl train --resume <run>`.';
  let known: number | null = null;
  const check = async (): Promise<void> => {
    const health = await readReachable({ what, url: `${root}/health`, isFine: (status) => status === 200, remedy });
    const rejections = keyRejections(health, models);
    if (known !== null && rejections > known) throw rejectedKey(what);
    // A restarted gateway counts from 0.
    known = rejections;
  };
  await waitForService(check, { ...wait, what });
  return { baseUrl: `${root}/v1`, check, pauseCalls: (action) => action(), close: async () => undefined };
}

const healthSchema = z.looseObject({
  upstreams: z.array(z.looseObject({ model: z.string().nullable(), key_rejections: z.number() })),
});

/** The number of rejections of the keys of the upstreams that serve the models; 0 at a gateway that does not report it. */
function keyRejections(health: string, models: readonly string[]): number {
  const upstreams = healthSchema.safeParse(parseJsonObject(health)).data?.upstreams ?? [];
  const own = upstreams.filter(({ model }) => model === null || models.includes(model));
  // A gateway sends calls of models that it does not know to all upstreams.
  const serving = own.length > 0 ? own : upstreams;
  return serving.reduce((sum, upstream) => sum + upstream.key_rejections, 0);
}

/** Ends the run at once: every further call would be rejected too. */
function rejectedKey(gateway: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message: `${gateway} has a key that its model endpoint rejects`,
    remedy:
      'Set a key of the endpoint where the gateway is started (its log names the endpoint), restart it, then start again.',
  });
}
