import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { defaultExport, importUserModule } from '../user-modules/import-user-module.ts';
import { isGroup } from './renamed-keys.ts';
import { isPromptSearch, type ResolvedRun, resolveRun } from './resolve-run.ts';

/** Values from the command line that replace those of the file. */
export type ConfigOverrides = Readonly<Record<string, unknown>>;

/**
 * Loads a configuration file: a module whose default export is the result of `defineConfig`, or a promise of it.
 *
 * @throws AgentLightningError CONFIG when the file is missing, fails to load, or has a wrong key
 */
export async function loadConfig(file: string, overrides: ConfigOverrides = {}): Promise<ResolvedRun> {
  const full = path.resolve(file);
  if (!existsSync(full)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `configuration file not found: ${full}`,
      remedy: `Pass its path: \`agl train path/to/agl.config.ts\`.`,
    });
  }
  if (statSync(full).isDirectory()) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${full} is a folder, not a configuration file`,
      remedy: `Pass the file in it: \`agl train ${path.join(file, 'agl.config.ts')}\`.`,
    });
  }
  const config = await importDefault(full);
  if (typeof config !== 'object' || config === null) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${full} has no default export`,
      remedy: 'Write `export default defineConfig({ … })`.',
    });
  }
  const run = resolveRun(
    { ...config, ...merged(config, overrides), ...otherRuntime(config, overrides) },
    path.dirname(full),
  );
  return isPromptSearch(run) ? { ...run, shared: { ...run.shared, agentFile: full } } : { ...run, agentFile: full };
}

const connections: ReadonlySet<string> = new Set(['store', 'runtime']);

/** Connections replace those of the file as a whole, other groups one by one, with the groups in them. */
function merged(config: object, overrides: ConfigOverrides): ConfigOverrides {
  const given: Readonly<Record<string, unknown>> = { ...config };
  return Object.fromEntries(
    Object.entries(overrides).map(([key, value]) => {
      const own = given[key];
      return connections.has(key) || !isGroup(value) || !isGroup(own)
        ? [key, value]
        : [key, { ...own, ...merged(own, value) }];
    }),
  );
}

/** Settings that are sent only to the runtime that they are configured for. */
const credentials: ReadonlySet<string> = new Set(['apiKey', 'inferenceApiKey']);

/**
 * Another address keeps the other settings of the runtime in the file, such as LoRA. Credentials in the file are sent to the
 * address in the file only.
 */
function otherRuntime(config: object, { runtime }: ConfigOverrides): ConfigOverrides {
  const own = 'runtime' in config ? config.runtime : undefined;
  if (!isGrpc(own) || !isGrpc(runtime)) return {};
  const given = Object.entries(runtime).filter(([, value]) => value !== undefined);
  const isElsewhere = runtime.address !== undefined && runtime.address !== own.address;
  const kept = Object.entries(own).filter(([name]) => !isElsewhere || !credentials.has(name));
  return { runtime: Object.fromEntries([...kept, ...given]) };
}

function isGrpc(runtime: unknown): runtime is { readonly type: 'grpc'; readonly address?: unknown } {
  return typeof runtime === 'object' && runtime !== null && 'type' in runtime && runtime.type === 'grpc';
}

/** The default export of a module. A promise is awaited: the configuration of a project without top-level await is one. */
async function importDefault(file: string): Promise<unknown> {
  try {
    return await defaultExport(await importUserModule(file));
  } catch (cause) {
    const location = cause instanceof Error ? userLocationOf(cause) : null;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${file} cannot be loaded: ${errorMessage(cause)}${location === null ? '' : ` (at ${location})`}`,
      remedy: location === null ? 'Correct the file.' : `Correct ${location}.`,
      cause,
    });
  }
}

const ownFolder = new URL('..', import.meta.url).pathname;

/** The first line of user code in the stack of an error, as `file:line:column`. */
function userLocationOf({ stack = '' }: Error): string | null {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const locations = frames.map((line) => /(?:\(|at (?:async )?)((?:file:\/\/)?\/.*:\d+:\d+)\)?$/.exec(line)?.[1]);
  const isOwn = (location: string): boolean => location.includes(ownFolder) || location.includes('/node_modules/');
  return locations.find((location) => location !== undefined && !isOwn(location)) ?? null;
}
