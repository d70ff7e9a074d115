import {
  type AttemptedRollout,
  type NamedResources,
  NotFoundError,
  type PromptTemplateResource,
  type Resource,
  type RolloutEndpoint,
  type Store,
} from '@agentlightning/core';
import { attemptBaseUrl } from '@agentlightning/core/store';

/** What an attempt runs with. */
export interface AttemptResources {
  /** With the attempt's own address in the place of the gateway's. */
  readonly resources: NamedResources;
  readonly endpoint: RolloutEndpoint | null;
}

/** Which resources are read, and how they are handed on. */
export interface ResourceChoice {
  /** The name of the endpoint; by default the first `proxy_llm`. */
  readonly endpointResource: string | undefined;
  /** The attempt's own key, which takes the place of the gateway's; null for none. */
  readonly attemptToken: string | null;
}

/**
 * Reads the resources that a rollout was enqueued with; the latest ones when it names none.
 *
 * @throws NotFoundError when the rollout's snapshot, or the named endpoint, does not exist
 */
export async function loadResources(
  store: Store,
  rollout: AttemptedRollout,
  { endpointResource, attemptToken }: ResourceChoice,
): Promise<AttemptResources> {
  const { rolloutId, resourcesId, attempt } = rollout;
  const snapshot = resourcesId === null ? await store.getLatestResources() : await store.getResources(resourcesId);
  const named = Object.entries(snapshot?.resources ?? {});
  const place = { rolloutId, attemptId: attempt.attemptId, attemptToken };
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

/** The prompts among resources. */
export function promptsAmong(resources: NamedResources): Readonly<Record<string, PromptTemplateResource>> {
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
}

function ofAttempt(resource: Resource, place: AttemptPlace): Resource {
  if (resource.resourceType !== 'proxy_llm') return resource;
  // An agent that uses the resource itself must not have to know about the gateway.
  const { baseUrl, apiKey } = endpointOf(resource, place);
  return { ...resource, resourceType: 'llm', endpoint: baseUrl, apiKey };
}

function endpointOf(resource: Extract<Resource, { resourceType: 'proxy_llm' }>, place: AttemptPlace): RolloutEndpoint {
  const { endpoint, model, apiKey } = resource;
  return { baseUrl: attemptBaseUrl(endpoint, place), model, apiKey: place.attemptToken ?? apiKey };
}
