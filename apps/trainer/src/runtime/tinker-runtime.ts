import { fileURLToPath } from 'node:url';
import { AgentLightningError } from '@agentlightning/core';
import type { TinkerServerOptions } from '@agentlightning/runtime-tinker';
import { environmentVariables } from '../config/environment.ts';
import type { ResolvedRuntime } from '../config/sections/runtime-config.ts';
import type { LaunchedRuntime } from './launch-runtime.ts';
import { launchNodeRuntime } from './node-runtime.ts';

/** The settings of a Tinker server. */
export type TinkerRuntimeConfig = Extract<ResolvedRuntime, { readonly type: 'tinker' }>;

/**
 * Starts the runtime over a Tinker server in a separate process, which has the server's key in its environment.
 *
 * @param options.checkpointDir - the folder of what is kept of checkpoints here
 * @param options.arguments - further command line arguments; default: none
 * @throws AgentLightningError CONFIG without a key, RUNTIME_UNAVAILABLE when it does not start
 */
export async function launchTinkerRuntime(
  config: TinkerRuntimeConfig,
  options: { readonly checkpointDir: string; readonly arguments?: readonly string[] },
): Promise<LaunchedRuntime> {
  const { serverUrl, serverKey, model, tokenizer } = tinkerServerOf(config);
  const flags = ['--dir', options.checkpointDir, '--server', serverUrl, '--model', model];
  if (tokenizer !== undefined) flags.push('--tokenizer', tokenizer);
  flags.push(...(options.arguments ?? []));
  return await launchNodeRuntime({
    name: 'the runtime over a Tinker server',
    entry: fileURLToPath(import.meta.resolve('@agentlightning/runtime-tinker/main')),
    flags,
    environment: { ...environmentVariables(), TINKER_API_KEY: serverKey },
    // The server may be starting; requests to it are repeated for five minutes.
    startTimeoutMs: 330_000,
    closeTimeoutMs: 20_000,
  });
}

/**
 * The server of a configuration, with its key.
 *
 * @throws AgentLightningError CONFIG without a key
 */
export function tinkerServerOf({ baseUrl, model, tokenizer, apiKey }: TinkerRuntimeConfig): TinkerServerOptions {
  const serverKey = apiKey ?? environmentVariables()['TINKER_API_KEY'] ?? '';
  if (serverKey === '') throw withoutKey(baseUrl);
  return { serverUrl: baseUrl, serverKey, model, ...(tokenizer === undefined ? {} : { tokenizer }) };
}

function withoutKey(baseUrl: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the Tinker server at ${baseUrl} needs a key, and neither \`runtime.apiKey\` nor TINKER_API_KEY is set`,
    remedy: 'Set TINKER_API_KEY to the key of the server.',
  });
}
