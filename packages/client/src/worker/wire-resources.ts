import type { Resource } from '@agentlightning/core';
import type { ResourcesSnapshot } from '@agentlightning/core/store';
import { numberOf, optionalObject, optionalText, recordOf, textOf, timeMsOf, type WireRecord } from '../json.ts';

/** Reads a snapshot of resources of the store protocol. */
export function snapshotOf(wire: WireRecord): ResourcesSnapshot {
  const resources = recordOf(wire['resources'], 'resources');
  return {
    resourcesId: textOf(wire, 'resources_id'),
    version: numberOf(wire, 'version'),
    resources: Object.fromEntries(
      Object.entries(resources).map(([name, resource]) => [name, resourceOf(recordOf(resource, name))]),
    ),
    createTimeMs: timeMsOf(wire, 'create_time'),
    updateTimeMs: timeMsOf(wire, 'update_time'),
  };
}

function resourceOf(wire: WireRecord): Resource {
  const resourceType = textOf(wire, 'resource_type') as Resource['resourceType'];
  if (resourceType === 'prompt_template') {
    return { resourceType, template: textOf(wire, 'template'), engine: textOf(wire, 'engine') as 'f-string' };
  }
  return {
    resourceType,
    endpoint: textOf(wire, 'endpoint'),
    model: textOf(wire, 'model'),
    apiKey: optionalText(wire, 'api_key'),
    samplingParameters: optionalObject(wire, 'sampling_parameters') ?? {},
  };
}
