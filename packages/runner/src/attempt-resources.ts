import {
  type AttemptedRollout,
  attemptBaseUrl,
  type NamedResources,
  NotFoundError,
  type Resource,
  type RolloutEndpoint,
  type Store,
} from '@agentlightning/core';

/** What an attempt runs with. */
export interface AttemptResources {
  /** With the attempt's own address in the place of the gateway's. */
  readonly resources: NamedResources;
  readonly endpoint: RolloutEndpoint | null;
}

/**
 * Reads the resources that a rollout was enqueued with; the latest ones when it names none.
 *
 * @param endpointResource - the name of the endpoint; by default the first `proxy_llm`
 * @throws NotFoundError when the rollout's snapshot, or the named endpoint, does not exist
 */
export async function loadResources(
  store: Store,
  rollout: AttemptedRollout,
  endpointResource: string | undefined,
): Promise<AttemptResources> {
  const { rolloutId, resourcesId, attempt } = rollout;
  const snapshot = resourcesId === null ? await store.getLatestResources() : await store.getResources(resourcesId);
  const named = Object.entries(snapshot?.resources ?? {});
  const ids = { rolloutId, attemptId: attempt.attemptId };
  const isEndpoint = ([name, { resourceType }]: [string, Resource]): boolean =>
    resourceType === 'proxy_llm' && (endpointResource === undefined || name === endpointResource);
  const found = named.find(isEndpoint)?.[1];
  if (found === undefined && endpointResource !== undefined) {
    throw new NotFoundError('proxy_llm resource', `${endpointResource} of rollout ${rolloutId}`);
  }
  return {
    resources: Object.fromEntries(named.map(([name, resource]) => [name, ofAttempt(resource, ids)])),
    endpoint: found?.resourceType === 'proxy_llm' ? endpointOf(found, ids) : null,
  };
}

interface AttemptIds {
  readonly rolloutId: string;
  readonly attemptId: string;
}

function ofAttempt(resource: Resource, ids: AttemptIds): Resource {
  if (resource.resourceType !== 'proxy_llm') return resource;
  // An agent that uses the resource itself must not have to know about the gateway.
  return { ...resource, resourceType: 'llm', endpoint: attemptBaseUrl(resource.endpoint, ids) };
}

function endpointOf(resource: Extract<Resource, { resourceType: 'proxy_llm' }>, ids: AttemptIds): RolloutEndpoint {
  return { baseUrl: attemptBaseUrl(resource.endpoint, ids), model: resource.model, apiKey: resource.apiKey };
}
