import { readFileSync } from 'node:fs';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { baseModels } from '../base-models.ts';
import type { CpuRuntimeOptions } from './start-cpu-runtime.ts';

const flagOptions = {
  dir: { type: 'string', default: '.agl/checkpoints' },
  port: { type: 'string', default: '0' },
  'inference-port': { type: 'string', default: '0' },
  'base-model': { type: 'string', multiple: true, default: [] as string[] },
  'key-file': { type: 'string' },
  'result-ttl-ms': { type: 'string' },
  'session-ttl-ms': { type: 'string' },
  'abandoned-model-ttl-ms': { type: 'string' },
} satisfies ParseArgsOptionsConfig;

const knownFlags = `Known flags: ${Object.keys(flagOptions)
  .map((name) => `--${name}`)
  .join(', ')}.`;

/**
 * The flags of the runtime's process:
 *
 * - `--dir`: parent folder of checkpoints, `.agl/checkpoints` by default
 * - `--port`: the gRPC port, a free one by default
 * - `--inference-port`: the port of the model API, a free one by default
 * - `--base-model`: offers this base model; repeatable, all by default
 * - `--key-file`: a file with the API key that clients must send, since a command line is visible to every user;
 * required
 * - `--result-ttl-ms`: retention of operation results, in milliseconds; an hour by default
 * - `--session-ttl-ms`: idle time after which a client's session expires, in milliseconds; 5 minutes by default
 * - `--abandoned-model-ttl-ms`: retention of models without a session, in milliseconds; 0 for unlimited, an hour by
 * default
 *
 * @throws AgentLightningError CONFIG when a flag is unknown or its value is invalid
 */
export function readProcessFlags(args: readonly string[]): CpuRuntimeOptions {
  const flags = parseFlags(args);
  const names = flags['base-model'];
  const keyFile = flags['key-file'];
  return {
    checkpointDir: flags.dir,
    port: portNumber('--port', flags.port),
    inferencePort: portNumber('--inference-port', flags['inference-port']),
    ...(names.length > 0 ? { baseModels: names.map(baseModelOf) } : {}),
    apiKey: readKey(keyFile),
    ...limitsOf(flags),
  };
}

/** The flag of each time limit, in milliseconds. */
const timeFlags = {
  'result-ttl-ms': 'resultTtlMs',
  'session-ttl-ms': 'sessionTtlMs',
  'abandoned-model-ttl-ms': 'abandonedModelTtlMs',
} as const;

function limitsOf(flags: ProcessFlags): Pick<CpuRuntimeOptions, (typeof timeFlags)[keyof typeof timeFlags]> {
  const given = Object.entries(timeFlags).flatMap(([flag, limit]) => {
    const text = flags[flag as keyof typeof timeFlags];
    const least = limit === 'abandonedModelTtlMs' ? 0 : 1;
    return text === undefined ? [] : [[limit, milliseconds(`--${flag}`, text, least)]];
  });
  return Object.fromEntries(given);
}

interface ProcessFlags {
  readonly dir: string;
  readonly port: string;
  readonly 'inference-port': string;
  readonly 'base-model': readonly string[];
  readonly 'key-file'?: string | undefined;
  readonly 'result-ttl-ms'?: string | undefined;
  readonly 'session-ttl-ms'?: string | undefined;
  readonly 'abandoned-model-ttl-ms'?: string | undefined;
}

function parseFlags(args: readonly string[]): ProcessFlags {
  try {
    return parseArgs({ args: [...args], options: flagOptions }).values;
  } catch (cause) {
    throw wrongFlag(errorMessage(cause), knownFlags, cause);
  }
}

function portNumber(flag: string, text: string): number {
  const port = Number(text);
  if (text !== '' && Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw wrongFlag(`${flag} is "${text}"`, 'Pass a port between 0 and 65535; 0 selects a free port.');
}

function milliseconds(flag: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= 0xffff_ffff) return value;
  throw wrongFlag(`${flag} is "${text}"`, `Pass an integer of at least ${least} milliseconds.`);
}

function baseModelOf(name: string): (typeof baseModels)[number] {
  const model = baseModels.find((candidate) => candidate.name === name);
  if (model !== undefined) return model;
  throw wrongFlag(
    `--base-model is "${name}"`,
    `The base models are ${baseModels.map((known) => known.name).join(', ')}.`,
  );
}

function readKey(path: string | undefined): string {
  if (path === undefined) throw wrongFlag('--key-file is missing', 'Pass a file with a random API key (mode 0600).');
  let key: string;
  try {
    key = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw wrongFlag(`--key-file ${path} cannot be read`, 'Pass a file with only the key.', cause);
  }
  if (key !== '') return key;
  throw wrongFlag(`--key-file ${path} is empty`, 'Pass a file with only the key.');
}

function wrongFlag(message: string, remedy: string, cause?: unknown): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy, cause });
}
