import path from 'node:path';
import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import type { ProxyLlmResource } from '@agentlightning/core/store';
import type { GatewayOptions, Upstream } from '@agentlightning/gateway';
import type { ResolvedEndpoint, ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import { assertReachable } from '../runtime/assert-reachable.ts';
import { chooseBaseModel } from '../runtime/choose-base-model.ts';
import { externalGateway, ownGateway, seededSampling } from '../runtime/open-gateway.ts';
import { openRuntime } from '../runtime/open-runtime.ts';
import type { ServiceWait } from '../runtime/wait-for-service.ts';
import type { HealthCheck } from '../runtime/watch-health.ts';

/** The model that agents call, behind a gateway. */
export interface OpenSearchModel {
  /** The resource of the rollouts. */
  readonly resource: ProxyLlmResource;
  /** Display name. */
  readonly name: string;
  readonly checks: readonly HealthCheck[];
}

/** Options of {@link openSearchModel}. */
export interface SearchModelOptions {
  readonly config: Pick<ResolvedPromptSearch, 'runtime' | 'sampling' | 'evaluation' | 'shared'>;
  readonly store: Store;
  readonly run: Run;
  readonly seed: number;
  readonly wait: ServiceWait;
  readonly onOpen: (close: () => Promise<void>) => void;
  readonly onFailure: (error: AgentLightningError) => void;
}

/** Opens the configured model, which is not trained, and a gateway in front of it. */
export async function openSearchModel(options: SearchModelOptions): Promise<OpenSearchModel> {
  const { config, store, run, onOpen } = options;
  const { sampling, evaluation } = config;
  const { attemptTokens } = config.shared;
  const { url, firstByteTimeoutMs, ...own } = config.shared.gateway;
  const upstream = await openUpstream(options);
  const gateway =
    url === null
      ? await ownGateway({
          store,
          runId: run.runId,
          upstream,
          attemptTokens,
          ...own,
          ...(firstByteTimeoutMs === null ? {} : { firstByteTimeoutMs }),
          ...(config.runtime.type === 'endpoint' ? { onRejectedKey: rejectedKey(config.runtime, options) } : {}),
          // A model API may not support seeds.
          sampling:
            config.runtime.type === 'endpoint'
              ? { train: sampling, val: sampling, test: evaluation.sampling }
              : seededSampling({ sampling, evaluation, seed: options.seed }),
        })
      : await externalGateway(url, options.wait, [upstream.model]);
  onOpen(gateway.close);
  return {
    resource: {
      resourceType: 'proxy_llm',
      endpoint: gateway.baseUrl,
      model: upstream.model,
      apiKey: null,
      samplingParameters: {},
    },
    name: upstream.model,
    checks: [modelCheck(upstream.baseUrl), { what: 'the gateway', check: gateway.check }],
  };
}

/** The configured endpoint, or an untrained model of a training runtime. */
async function openUpstream(options: SearchModelOptions): Promise<Upstream & { readonly model: string }> {
  const { config, run, seed, onOpen, onFailure } = options;
  const { runtime, shared } = config;
  if (runtime.type === 'endpoint') {
    const { baseUrl, model, apiKey, maxConcurrent, isScripted: returnsErrors = false } = runtime;
    return {
      baseUrl,
      model,
      apiKey,
      maxConcurrent,
      maxQueued: shared.agents.concurrency * 4,
      capture: 'text',
      returnsErrors,
    };
  }
  const connection = await openRuntime(runtime, { dataDir: path.resolve(shared.dataDir), ...options.wait });
  onOpen(connection.close);
  void connection.died.then(onFailure);
  const baseModel = chooseBaseModel(runtime.model, await connection.runtime.capabilities());
  const model = await connection.runtime.createModel({ baseModel, seed, modelId: run.runId });
  const endpoint = await model.endpoint();
  return { baseUrl: endpoint.baseUrl, model: endpoint.model, apiKey: connection.inferenceKey(endpoint) };
}

/** Ends the run at once: every further call would be rejected too. */
function rejectedKey(
  { keySource }: ResolvedEndpoint,
  { onFailure }: SearchModelOptions,
): NonNullable<GatewayOptions['onRejectedKey']> {
  return ({ baseUrl, status }) =>
    onFailure(
      new AgentLightningError({
        code: 'UNAUTHENTICATED',
        message: `the model endpoint ${addressText(baseUrl)} rejects ${keySource} with HTTP ${status}`,
        remedy: 'Set a key of this endpoint that may use its model, then start again.',
      }),
    );
}

function modelCheck(baseUrl: string): HealthCheck {
  return {
    what: 'the model endpoint',
    check: () =>
      assertReachable({
        what: `the model endpoint ${addressText(baseUrl)}`,
        url: `${baseUrl.replace(/\/+$/, '')}/models`,
        // An endpoint that requires a key or does not list models is reachable.
        isFine: (status) => status < 500,
        remedy: 'Start it again, then `agl train --resume <run>`.',
      }),
  };
}
