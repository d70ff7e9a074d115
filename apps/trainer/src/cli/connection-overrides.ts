import path from 'node:path';
import type { ConfigOverrides } from '../config/load-config.ts';
import { isGroup } from '../config/renamed-keys.ts';

/** The flags that replace the connections of a configuration file. */
export interface ConnectionFlags {
  readonly dataDir?: string;
  readonly store?: string;
  /** `host:port` of a training runtime. */
  readonly runtime?: string;
}

/**
 * Adds the values of these flags, with the keys of the environment, to the settings of other flags. Paths of flags are relative
 * to the current folder.
 */
export function connectionOverrides(
  { dataDir, store, runtime }: ConnectionFlags,
  given: ConfigOverrides = {},
): ConfigOverrides {
  const run = isGroup(given['run']) ? given['run'] : {};
  return {
    ...given,
    ...(dataDir === undefined ? {} : { run: { ...run, dataDir: path.resolve(dataDir) } }),
    ...(store === undefined ? {} : { store: withKey(fromHere(store)) }),
    ...(runtime === undefined ? {} : { runtime: runtimeAt(runtime) }),
  };
}

/** The flags that have a value; a group without any is omitted. */
export function givenFlags(flags: Readonly<Record<string, unknown>>): ConfigOverrides {
  const entries = Object.entries(flags).map(
    ([name, value]) => [name, isGroup(value) ? givenFlags(value) : value] as const,
  );
  return Object.fromEntries(
    entries.filter(([, value]) => value !== undefined && !(isGroup(value) && Object.keys(value).length === 0)),
  );
}

function withKey(url: string): object {
  const apiKey = process.env['AGL_STORE_KEY'];
  return apiKey === undefined ? { url } : { url, apiKey };
}

function runtimeAt(address: string): object {
  return {
    type: 'grpc',
    address,
    apiKey: process.env['AGL_RUNTIME_KEY'],
    inferenceApiKey: process.env['AGL_INFERENCE_KEY'],
  };
}

function fromHere(storeUrl: string): string {
  return storeUrl.startsWith('sqlite:') ? `sqlite:${path.resolve(storeUrl.slice('sqlite:'.length))}` : storeUrl;
}
