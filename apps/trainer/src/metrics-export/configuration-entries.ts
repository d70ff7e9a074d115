import type { JsonObject, JsonValue } from '@agentlightning/core';

/** A configuration as names with dots and texts: `algorithm.type`, `grpo`. Lists are JSON. */
export function configurationEntries(config: JsonObject, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(config).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    if (isObject(value)) return configurationEntries(value, `${path}.`);
    return [[path, typeof value === 'string' ? value : JSON.stringify(value)] as const];
  });
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
