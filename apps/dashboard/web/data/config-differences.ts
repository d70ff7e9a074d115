import type { JsonObject, JsonValue } from '@agentlightning/core';

/** A setting that differs between configurations. */
export interface ConfigDifference {
  /** Names joined by dots. */
  readonly path: string;
  /** Its value as JSON in each configuration; null where it is absent. */
  readonly values: readonly (string | null)[];
}

/** The settings that differ between configurations, by name. Lists are compared as a whole. */
export function configDifferences(configs: readonly JsonObject[]): readonly ConfigDifference[] {
  const settings = configs.map(settingsOf);
  return [...new Set(settings.flatMap((each) => [...each.keys()]))]
    .sort()
    .map((path) => ({ path, values: settings.map((each) => each.get(path) ?? null) }))
    .filter(({ values }) => values.some((value) => value !== values[0]));
}

function settingsOf(config: JsonObject): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  const add = (path: string, value: JsonValue): void => {
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
    const entries = isGroup ? Object.entries(value) : [];
    if (entries.length === 0) settings.set(path, JSON.stringify(value));
    for (const [name, inner] of entries) add(`${path}.${name}`, inner);
  };
  for (const [name, value] of Object.entries(config)) add(name, value);
  return settings;
}
