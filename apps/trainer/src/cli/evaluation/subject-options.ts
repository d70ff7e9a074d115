import { AgentLightningError } from '@agentlightning/core';
import { env } from '@agentlightning/core/settings';
import type { Command } from 'commander';
import type { ConfigOverrides } from '../../config/load-config.ts';
import type { EndpointModel } from '../../evaluation-run/evaluate-options.ts';
import { type ConnectionFlags, connectionOverrides, givenFlags } from '../connection-overrides.ts';
import { formerWorkers, storeHelp, wholeNumber } from '../flags.ts';

/** The flags that `agl eval` and `agl dev` share. */
export interface SubjectFlags extends ConnectionFlags {
  readonly of?: string;
  readonly endpoint?: string;
  readonly model?: string;
  readonly keyEnv?: string;
  readonly run?: string;
  readonly seed?: number;
  readonly processes?: number;
  readonly inProcess?: boolean;
  readonly json?: boolean;
}

/** Adds the flags that `agl eval` and `agl dev` share. */
export function addSubjectOptions(command: Command): Command {
  return command
    .option(
      '--of <subject>',
      'base, <run>@best, <run>@latest, <run>@<step>, <run>@v3 of a prompt search, prompts.json, or endpoint (default: base, or the endpoint)',
    )
    .option('--endpoint <url>', 'an OpenAI-compatible API, up to and with /v1')
    .option('--model <name>', 'the model of the endpoint')
    .option('--key-env <name>', 'the environment variable with the key of the endpoint')
    .option('--run <id>', 'the id of the run in the store: letters, digits, _ and single hyphens')
    .option('--seed <n>', 'seed of the sampling', wholeNumber({ min: 0, max: 0xffffffff }))
    .addOption(formerWorkers())
    .option('--processes <n>', 'processes that run agents', wholeNumber({ min: 1, max: 256 }))
    .option('--in-process', 'run agents in this process')
    .option('--data-dir <folder>', 'folder of run data (default: .agl next to the configuration file)')
    .option('--store <url>', storeHelp)
    .option('--runtime <address>', 'host:port of a running training runtime');
}

/**
 * The endpoint of the flags; null without one.
 *
 * @throws AgentLightningError CONFIG for an incomplete or invalid one
 */
export function endpointOf({
  endpoint,
  model,
  keyEnv,
}: Pick<SubjectFlags, 'endpoint' | 'model' | 'keyEnv'>): EndpointModel | null {
  if (endpoint === undefined) {
    if (model === undefined && keyEnv === undefined) return null;
    throw flagError('--model and --key-env require an endpoint', 'Pass `--endpoint <url>` as well.');
  }
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) {
    throw flagError(`--endpoint is not an HTTP address: "${endpoint}"`, 'Write it up to and with `/v1`.');
  }
  if (model === undefined) throw flagError('--endpoint has no model', 'Pass `--model <name>`.');
  return { baseUrl: endpoint, model, ...(keyEnv === undefined ? {} : { apiKey: env(keyEnv) }) };
}

/** The settings of the shared flags. */
export function subjectOverrides(
  flags: SubjectFlags,
  further: {
    readonly concurrency?: number | undefined;
    readonly maxMissingShare?: number | undefined;
    readonly processes?: number;
  } = {},
): ConfigOverrides {
  const given = givenFlags({
    run: { seed: flags.seed },
    agents: {
      processes: further.processes ?? flags.processes,
      inProcess: flags.inProcess,
      concurrency: further.concurrency,
    },
    evaluation: { maxMissingShare: further.maxMissingShare },
    gateway: { tokenSecret: process.env['AGL_TOKEN_SECRET'] },
  });
  return connectionOverrides(flags, given);
}

function flagError(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy });
}
