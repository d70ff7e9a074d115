import type { JsonObject, JsonValue } from '@agentlightning/core';

/** A setting that differs between two configurations. Values are JSON; null where it is absent. */
export interface ConfigDifference {
  /** Names joined by dots. */
  readonly path: string;
  readonly value: string | null;
  readonly other: string | null;
}

/** The settings that differ between two configurations, by name. Lists are compared as a whole. */
export function configDifferences(config: JsonObject, other: JsonObject): readonly ConfigDifference[] {
  const [ours, theirs] = [settingsOf(config), settingsOf(other)];
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .sort()
    .map((path) => ({ path, value: ours.get(path) ?? null, other: theirs.get(path) ?? null }))
    .filter(({ value, other: theirValue }) => value !== theirValue);
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
