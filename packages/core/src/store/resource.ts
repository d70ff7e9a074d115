import type { JsonObject } from '../base/json.ts';

/** A model endpoint that an agent calls directly. */
export interface LlmResource {
  /** The kind of the resource. */
  readonly resourceType: 'llm';
  /** The base URL of an OpenAI-compatible API, up to and with `/v1`. */
  readonly endpoint: string;
  /** The name that requests send as `model`. */
  readonly model: string;
  /** Key of the endpoint; null without one. */
  readonly apiKey: string | null;
  /** Recommended sampling parameters: temperature, max_tokens and so on. */
  readonly samplingParameters: JsonObject;
}

/** A model endpoint behind the gateway: every attempt has a separate URL (see `attemptBaseUrl`). */
export interface ProxyLlmResource {
  /** The kind of the resource. */
  readonly resourceType: 'proxy_llm';
  /** The gateway's base URL, up to and with `/v1`. */
  readonly endpoint: string;
  /** The name that requests send as `model`. */
  readonly model: string;
  /** Key of the endpoint; null without one. */
  readonly apiKey: string | null;
  /** Parameters of each request. */
  readonly samplingParameters: JsonObject;
}

/** A prompt template, which prompt optimisation rewrites. */
export interface PromptTemplateResource {
  /** The kind of the resource. */
  readonly resourceType: 'prompt_template';
  /** Text of the template. */
  readonly template: string;
  /** Placeholder syntax: `{name}` in `f-string`, `{{ name }}` in `jinja`. */
  readonly engine: 'f-string' | 'jinja' | 'poml';
}

/** Input of agents that the trainer can update: a model endpoint or a prompt. */
export type Resource = LlmResource | ProxyLlmResource | PromptTemplateResource;

/** Resources by name. */
export type NamedResources = Readonly<Record<string, Resource>>;

/** One version of a set of resources. */
export interface ResourcesSnapshot {
  /** Id of the snapshot. */
  readonly resourcesId: string;
  /** From 1, incremented by every update. */
  readonly version: number;
  /** The resources by name. */
  readonly resources: NamedResources;
  /** Unix milliseconds. */
  readonly createTimeMs: number;
  /** Unix milliseconds. */
  readonly updateTimeMs: number;
}

/**
 * The base URL at which one attempt calls a proxied model: `…/rollout/{rolloutId}/attempt/{attemptId}/v1`.
 *
 * A trailing slash is dropped and `/v1` stays at the end, as in the Python client.
 *
 * @example
 * ```ts
 * attemptBaseUrl('http://localhost:4750/v1', { rolloutId: 'ro-1', attemptId: 'at-1' });
 * // 'http://localhost:4750/rollout/ro-1/attempt/at-1/v1'
 * ```
 */
export function attemptBaseUrl(
  endpoint: string,
  attempt: { readonly rolloutId: string; readonly attemptId: string },
): string {
  const trimmed = endpoint.replace(/\/+$/, '');
  const hasVersion = trimmed.endsWith('/v1');
  const root = hasVersion ? trimmed.slice(0, -'/v1'.length) : trimmed;
  const path = `/rollout/${encodeURIComponent(attempt.rolloutId)}/attempt/${encodeURIComponent(attempt.attemptId)}`;
  return root + path + (hasVersion ? '/v1' : '');
}
