import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import type { NamedResources, PromptTemplateResource, Resource, ResourcesSnapshot } from '../resource.ts';
import { wireJsonObject } from './wire-json.ts';
import { msFromSeconds, secondsFromMs } from './wire-time.ts';

/** A model endpoint, as the store protocol has it. */
export interface WireLlm {
  readonly resource_type: 'llm' | 'proxy_llm';
  readonly endpoint: string;
  readonly model: string;
  readonly api_key?: string | null | undefined;
  readonly sampling_parameters?: JsonObject | undefined;
}

/** A prompt, as the store protocol has it. */
export interface WirePromptTemplate {
  readonly resource_type: 'prompt_template';
  readonly template: string;
  readonly engine: PromptTemplateResource['engine'];
}

/** Resources by name, as the store protocol has them. */
export type WireNamedResources = Readonly<Record<string, WireLlm | WirePromptTemplate>>;

/** One version of a set of resources, as the store protocol has it. Times are Unix seconds. */
export interface WireResourcesSnapshot {
  readonly resources_id: string;
  readonly version: number;
  readonly resources: WireNamedResources;
  readonly create_time: number;
  readonly update_time: number;
}

/** The shape of {@link WireNamedResources}. */
export const wireNamedResourcesSchema: z.ZodType<WireNamedResources> = z.record(
  z.string(),
  z.discriminatedUnion('resource_type', [
    z.object({
      resource_type: z.enum(['llm', 'proxy_llm']),
      endpoint: z.string(),
      model: z.string(),
      api_key: z.string().nullish(),
      sampling_parameters: wireJsonObject.optional(),
    }),
    z.object({
      resource_type: z.literal('prompt_template'),
      template: z.string(),
      engine: z.enum(['f-string', 'jinja', 'poml']),
    }),
  ]),
);

/** The shape of {@link WireResourcesSnapshot}. */
export const wireResourcesSnapshotSchema: z.ZodType<WireResourcesSnapshot> = z.object({
  resources_id: z.string(),
  version: z.int(),
  resources: wireNamedResourcesSchema,
  create_time: z.number(),
  update_time: z.number(),
});

/** Resources by name, from the wire. */
export function namedResourcesFromWire(wire: WireNamedResources): NamedResources {
  return Object.fromEntries(Object.entries(wire).map(([name, resource]) => [name, resourceFromWire(resource)]));
}

/** Resources by name, for the wire. */
export function namedResourcesToWire(resources: NamedResources): WireNamedResources {
  return Object.fromEntries(Object.entries(resources).map(([name, resource]) => [name, resourceToWire(resource)]));
}

/** A snapshot of resources, from the wire. */
export function resourcesSnapshotFromWire(wire: WireResourcesSnapshot): ResourcesSnapshot {
  return {
    resourcesId: wire.resources_id,
    version: wire.version,
    resources: namedResourcesFromWire(wire.resources),
    createTimeMs: msFromSeconds(wire.create_time),
    updateTimeMs: msFromSeconds(wire.update_time),
  };
}

/** A snapshot of resources, for the wire. */
export function resourcesSnapshotToWire(snapshot: ResourcesSnapshot): WireResourcesSnapshot {
  return {
    resources_id: snapshot.resourcesId,
    version: snapshot.version,
    resources: namedResourcesToWire(snapshot.resources),
    create_time: secondsFromMs(snapshot.createTimeMs),
    update_time: secondsFromMs(snapshot.updateTimeMs),
  };
}

function resourceFromWire(wire: WireLlm | WirePromptTemplate): Resource {
  if (wire.resource_type === 'prompt_template') {
    return { resourceType: wire.resource_type, template: wire.template, engine: wire.engine };
  }
  return {
    resourceType: wire.resource_type,
    endpoint: wire.endpoint,
    model: wire.model,
    apiKey: wire.api_key ?? null,
    samplingParameters: wire.sampling_parameters ?? {},
  };
}

function resourceToWire(resource: Resource): WireLlm | WirePromptTemplate {
  if (resource.resourceType === 'prompt_template') {
    return { resource_type: resource.resourceType, template: resource.template, engine: resource.engine };
  }
  return {
    resource_type: resource.resourceType,
    endpoint: resource.endpoint,
    model: resource.model,
    api_key: resource.apiKey,
    sampling_parameters: resource.samplingParameters,
  };
}
