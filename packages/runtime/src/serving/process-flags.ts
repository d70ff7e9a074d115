import { readFileSync } from 'node:fs';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import type { ServedRuntimeOptions } from './start-runtime.ts';

/** A flag with a value. */
interface TextFlag {
  readonly type: 'string';
}

/** A flag with a default. */
interface DefaultedFlag extends TextFlag {
  readonly default: string;
}

/** The type of {@link serverFlags}. */
interface ServerFlags {
  readonly port: DefaultedFlag;
  readonly 'inference-port': DefaultedFlag;
  readonly 'key-file': TextFlag;
  readonly 'result-ttl-ms': TextFlag;
  readonly 'session-ttl-ms': TextFlag;
  readonly 'abandoned-model-ttl-ms': TextFlag;
}

/**
 * The flags of every runtime's process:
 *
 * - `--port`: the gRPC port, a free one by default
 * - `--inference-port`: the port of the model API, a free one by default
 * - `--key-file`: a file with the API key that clients must send, since a command line is visible to every user;
 * required
 * - `--result-ttl-ms`: retention of operation results, in milliseconds; an hour by default
 * - `--session-ttl-ms`: idle time after which a client's session expires, in milliseconds; 5 minutes by default
 * - `--abandoned-model-ttl-ms`: retention of models without a session, in milliseconds; 0 for unlimited, an hour by
 * default
 */
export const serverFlags: ServerFlags = {
  port: { type: 'string', default: '0' },
  'inference-port': { type: 'string', default: '0' },
  'key-file': { type: 'string' },
  'result-ttl-ms': { type: 'string' },
  'session-ttl-ms': { type: 'string' },
  'abandoned-model-ttl-ms': { type: 'string' },
};

/** The values of {@link serverFlags}. */
export type ServerFlagValues = Readonly<Partial<Record<keyof typeof serverFlags, string | undefined>>>;

/** Reads flags. @throws AgentLightningError CONFIG when one is unknown */
export function parseFlags<TOptions extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: TOptions,
): ReturnType<typeof parseArgs<{ options: TOptions }>>['values'] {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (cause) {
    const names = Object.keys(options).map((name) => `--${name}`);
    throw wrongFlag(errorMessage(cause), `Known flags: ${names.join(', ')}.`, cause);
  }
}

/** The flag of each time limit, in milliseconds. */
const timeFlags = {
  'result-ttl-ms': 'resultTtlMs',
  'session-ttl-ms': 'sessionTtlMs',
  'abandoned-model-ttl-ms': 'abandonedModelTtlMs',
} as const;

/** The options of the server. @throws AgentLightningError CONFIG when a value is invalid */
export function serverOptionsOf(flags: ServerFlagValues): ServedRuntimeOptions {
  const limits = Object.entries(timeFlags).flatMap(([flag, limit]) => {
    const text = flags[flag as keyof typeof timeFlags];
    const least = limit === 'abandonedModelTtlMs' ? 0 : 1;
    return text === undefined ? [] : [[limit, milliseconds(`--${flag}`, text, least)] as const];
  });
  return {
    port: portNumber('--port', flags.port ?? '0'),
    inferencePort: portNumber('--inference-port', flags['inference-port'] ?? '0'),
    apiKey: readKey(flags['key-file']),
    ...Object.fromEntries(limits),
  };
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

/** A flag that is unknown or invalid. */
export function wrongFlag(message: string, remedy: string, cause?: unknown): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy, cause });
}
