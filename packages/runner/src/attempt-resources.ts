import { NotFoundError, type PromptTemplateResource, type Resource, type RolloutEndpoint } from '@agentlightning/core';
import { type AttemptedRollout, attemptBaseUrl, type NamedResources } from '@agentlightning/core/store';
import type { RunnerStore } from './runner-store.ts';

/** The resources of an attempt. */
export interface AttemptResources {
  /** With the attempt's URL at the gateway instead of the gateway's. */
  readonly resources: NamedResources;
  readonly endpoint: RolloutEndpoint | null;
}

/** Selects resources, and the key that they contain. */
export interface ResourceChoice {
  /** The name of the endpoint; by default the first `proxy_llm`. */
  readonly endpointResource: string | undefined;
  /** The attempt's token, which replaces the gateway's key; null for none. */
  readonly attemptToken: string | null;
  /** Replaces the URL of the gateway in the endpoints. */
  readonly gatewayUrl: string | undefined;
}

/**
 * Reads the resources with which a rollout was enqueued; the latest ones if it has no resources id.
 *
 * @throws NotFoundError when the rollout's snapshot, or the named endpoint, does not exist
 */
export async function loadResources(
  store: RunnerStore,
  rollout: AttemptedRollout,
  { endpointResource, attemptToken, gatewayUrl }: ResourceChoice,
): Promise<AttemptResources> {
  const { rolloutId, resourcesId, attempt } = rollout;
  const snapshot = resourcesId === null ? await store.getLatestResources() : await store.getResources(resourcesId);
  const named = Object.entries(snapshot?.resources ?? {});
  const place = { rolloutId, attemptId: attempt.attemptId, attemptToken, gatewayUrl };
  const isEndpoint = ([name, { resourceType }]: [string, Resource]): boolean =>
    resourceType === 'proxy_llm' && (endpointResource === undefined || name === endpointResource);
  const found = named.find(isEndpoint)?.[1];
  if (found === undefined && endpointResource !== undefined) {
    throw new NotFoundError('proxy_llm resource', `${endpointResource} of rollout ${rolloutId}`);
  }
  return {
    resources: Object.fromEntries(named.map(([name, resource]) => [name, ofAttempt(resource, place)])),
    endpoint: found?.resourceType === 'proxy_llm' ? endpointOf(found, place) : null,
  };
}

/** The prompts of a resource set. */
export function promptsOf(resources: NamedResources): Readonly<Record<string, PromptTemplateResource>> {
  return Object.fromEntries(
    Object.entries(resources).flatMap(([name, resource]) =>
      resource.resourceType === 'prompt_template' ? [[name, resource] as const] : [],
    ),
  );
}

interface AttemptPlace {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly attemptToken: string | null;
  readonly gatewayUrl: string | undefined;
}

function ofAttempt(resource: Resource, place: AttemptPlace): Resource {
  if (resource.resourceType !== 'proxy_llm') return resource;
  // An agent that uses the resource directly must not depend on the gateway.
  const { baseUrl, apiKey } = endpointOf(resource, place);
  return { ...resource, resourceType: 'llm', endpoint: baseUrl, apiKey };
}

function endpointOf(resource: Extract<Resource, { resourceType: 'proxy_llm' }>, place: AttemptPlace): RolloutEndpoint {
  const { endpoint, model, apiKey } = resource;
  return { baseUrl: attemptBaseUrl(place.gatewayUrl ?? endpoint, place), model, apiKey: place.attemptToken ?? apiKey };
}
