import * as z from 'zod';
import type { NamedResources, Resource, ResourcesSnapshot } from '../../store/resource.ts';
import { recordCodec, seconds } from './wire-fields.ts';
import { wireJsonObject } from './wire-json.ts';

const resourceCodec: z.ZodType<Resource> = z.codec(
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
  z.custom<Resource>(),
  {
    decode: (wire) =>
      wire.resource_type === 'prompt_template'
        ? { resourceType: wire.resource_type, template: wire.template, engine: wire.engine }
        : {
            resourceType: wire.resource_type,
            endpoint: wire.endpoint,
            model: wire.model,
            apiKey: wire.api_key ?? null,
            samplingParameters: wire.sampling_parameters ?? {},
          },
    encode: (resource) =>
      resource.resourceType === 'prompt_template'
        ? { resource_type: resource.resourceType, template: resource.template, engine: resource.engine }
        : {
            resource_type: resource.resourceType,
            endpoint: resource.endpoint,
            model: resource.model,
            api_key: resource.apiKey,
            sampling_parameters: resource.samplingParameters,
          },
  },
);

/** Resources by name in the store protocol. */
export const namedResourcesCodec: z.ZodType<NamedResources> = z.record(z.string(), resourceCodec);

/** One version of a set of resources in the store protocol. Times are Unix seconds. */
export const resourcesSnapshotCodec: z.ZodType<ResourcesSnapshot> = recordCodec<ResourcesSnapshot>({
  resourcesId: ['resources_id', z.string()],
  version: ['version', z.int()],
  resources: ['resources', namedResourcesCodec],
  createTimeMs: ['create_time', seconds],
  updateTimeMs: ['update_time', seconds],
});
