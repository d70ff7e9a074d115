import { AgentLightningError, type Store } from '@agentlightning/core';
import type { ProxyLlmResource } from '@agentlightning/core/store';
import type { InferenceEndpoint } from '@agentlightning/core/training-runtime';
import { policyKey } from '../config/policies.ts';
import { learnerOf, needsValueHead } from '../config/policy-learner.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { assertReachable } from '../runtime/assert-reachable.ts';
import { type OpenGateway, openGateway, type RegisterUpstreams } from '../runtime/open-gateway.ts';
import type { OpenRuntime } from '../runtime/open-runtime.ts';
import type { ServiceWait } from '../runtime/wait-for-service.ts';
import type { HealthCheck } from '../runtime/watch-health.ts';
import type { Closer } from '../session/close-all.ts';
import { defaultLearningRate } from '../session/default-learning-rate.ts';
import { type ModelSource, openModel } from '../session/open-models.ts';
import type { SessionPolicy } from '../session/session-policies.ts';

/** The models of a configuration behind a gateway. */
export interface ServedPolicies {
  /** In the order of the configuration. */
  readonly policies: readonly ServedSessionPolicy[];
  readonly gateway: OpenGateway;
  /** The resources of rollouts: the policies by name. Agents call the first one by default. */
  readonly resources: Readonly<Record<string, ProxyLlmResource>>;
  readonly checks: readonly HealthCheck[];
}

/** Dependencies of serving policies. */
export interface ServeRequest extends ModelSource {
  readonly store: Store;
  readonly inferenceKey: OpenRuntime['inferenceKey'];
  readonly wait: ServiceWait;
  /** Registers the upstreams at an external gateway. @default its operator does */
  readonly registerUpstreams?: RegisterUpstreams | null;
  readonly onOpen: (close: Closer) => void;
}

/** A policy and the endpoint that serves it, before its teacher is opened. */
export type ServedSessionPolicy = Omit<SessionPolicy, 'teacher'> & { readonly endpoint: InferenceEndpoint };

/** Opens the models of all policies at the checkpoint of the state, and a gateway in front of them. */
export async function servePolicies(request: ServeRequest): Promise<ServedPolicies> {
  const { config, store, run, inferenceKey, wait, onOpen } = request;
  const policies: ServedSessionPolicy[] = [];
  // A later stage begins with a checkpoint of this one, of the same shape.
  const hasCritic = config.stages.some((stage) => stage.policies.some(needsValueHead));
  for (const [index, policy] of config.policies.entries()) {
    const opened = await openModel(request, { policy, index, hasValueHead: hasCritic || needsValueHead(policy) });
    const endpoint = await opened.model.endpoint();
    // The gateway records calls with the endpoint's name of the model.
    const learningRate = defaultLearningRate(await opened.model.state());
    policies.push({ ...policy, ...opened, learner: learnerOf(policy, endpoint.model, learningRate), endpoint });
  }
  const { registerUpstreams = null } = request;
  const gateway = await openGateway({ config, store, run, policies, inferenceKey, wait, registerUpstreams });
  onOpen(gateway.close);
  const resources = resourcesOf(policies, { gateway, config });
  return { policies, gateway, resources, checks: healthChecks(policies, gateway) };
}

function healthChecks(policies: readonly ServedSessionPolicy[], gateway: OpenGateway): readonly HealthCheck[] {
  const urls = [...new Set(policies.map(({ endpoint }) => endpoint.baseUrl))];
  return [
    ...policies.map((policy) => ({ what: 'the training runtime', check: () => assertModelExists(policy) })),
    ...urls.map((url) => ({
      what: 'the model endpoint',
      check: () =>
        assertReachable({
          what: `the model endpoint ${url}`,
          url: `${url}/models`,
          // A response that requires a key shows that it runs.
          isFine: (status) => status < 500,
          remedy: 'Check the log of the training runtime, then `agl train --resume <run>`.',
        }),
    })),
    { what: 'the gateway', check: gateway.check },
  ];
}

/** Detects a restarted runtime, which responds but does not have the model. */
async function assertModelExists({ model }: ServedSessionPolicy): Promise<void> {
  try {
    await model.state();
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND') throw error;
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `the training runtime does not have model "${model.modelId}": it was restarted`,
      remedy: 'Resume from the last checkpoint with `agl train --resume <run>`.',
      cause: error,
    });
  }
}

function resourcesOf(
  policies: readonly ServedSessionPolicy[],
  { gateway, config }: { readonly gateway: OpenGateway; readonly config: ResolvedConfig },
): Readonly<Record<string, ProxyLlmResource>> {
  const { temperature, topP, maxTokens } = config.sampling;
  const samplingParameters = {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
  };
  const resources = policies.map((policy): [string, ProxyLlmResource] => [
    policyKey(policy),
    {
      resourceType: 'proxy_llm',
      endpoint: gateway.baseUrl,
      model: policy.endpoint.model,
      apiKey: null,
      samplingParameters,
    },
  ]);
  return Object.fromEntries(resources);
}
