import { randomBytes } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import { respondToWholeRequests, systemClock } from '@agentlightning/core/internal';
import { closeServer, listen } from '@agentlightning/core/protocol';
import { getRequestListener } from '@hono/node-server';
import type { RuntimeLimits } from '../runtime-limits.ts';
import type { RuntimeEngine } from '../server/engine.ts';
import { serveRuntime } from '../server/serve-runtime.ts';
import type { ChatRequestRules } from './chat-request.ts';
import type { ChatModel } from './chat-sampling.ts';
import { inferenceApp } from './inference-app.ts';

/** Ports, key and limits of a runtime with a model API. It listens on loopback only. */
export interface ServedRuntimeOptions {
  /** The gRPC port; 0 selects a free port. @default 0 */
  readonly port?: number;
  /** The port of the model API; 0 selects a free port. @default 0 */
  readonly inferencePort?: number;
  /** API key of gRPC clients and of the model API. @default a random one; see `ServedRuntime.apiKey` */
  readonly apiKey?: string;
  /** Retention of operation results, in milliseconds. @default 3600000 */
  readonly resultTtlMs?: number;
  /** Idle time after which a client's session expires, in milliseconds. @default 300000 */
  readonly sessionTtlMs?: number;
  /** Retention of models without a session, in milliseconds; 0 for unlimited. @default 3600000 */
  readonly abandonedModelTtlMs?: number;
  /** @default systemClock */
  readonly clock?: Clock;
}

/** A running runtime. */
export interface ServedRuntime {
  /** `host:port` of the gRPC server, for `connectRuntime`. */
  readonly address: string;
  /** The base URL of the model API, including `/v1`. */
  readonly inferenceUrl: string;
  /** The API key of both servers. */
  readonly apiKey: string;
  /** Rejects new calls, lets the running operation finish, and stops. */
  close(): Promise<void>;
}

/** What an engine needs of its model API. */
export interface ServingPlace {
  /** The base URL of the model API, including `/v1`. */
  readonly baseUrl: string;
  /** Time of the runtime. */
  readonly clock: Clock;
  /** To be called when the engine is closed. */
  readonly onClose: () => Promise<void>;
}

/** The models of a runtime, and their engine. */
export interface ServedModels {
  /** For messages: `the embedded runtime`. */
  readonly name: string;
  /** The models by id; the engine fills it. */
  readonly models: ReadonlyMap<string, ChatModel>;
  readonly rules: ChatRequestRules;
  readonly createEngine: (place: ServingPlace) => RuntimeEngine;
}

const host = '127.0.0.1';

/** Keep-alive timeout of idle connections of the model API: agents pause between calls. */
const keepAliveMs = 65_000;

/** Grace period of responses in flight when the server stops. */
const shutdownGraceMs = 1_000;

/**
 * Serves an engine by gRPC for training, and its models by OpenAI's API for sampling.
 *
 * @throws AgentLightningError PORT_IN_USE when a port is taken; CONFIG when the API key is empty
 */
export async function startRuntime(served: ServedModels, options: ServedRuntimeOptions): Promise<ServedRuntime> {
  const { name, models, rules, createEngine } = served;
  const { apiKey = randomApiKey(), clock = systemClock, port = 0, inferencePort = 0 } = options;
  assertNotEmpty(apiKey);
  const { fetch } = inferenceApp({ models, rules, apiKey, clock });
  const listener = getRequestListener(respondToWholeRequests(fetch), { overrideGlobalObjects: false });
  const server = createServer({ keepAliveTimeout: keepAliveMs }, listener);
  const listeningPort = await listen(server, `the model API of ${name}`, { host, port: inferencePort });
  const inferenceUrl = `http://${host}:${listeningPort}/v1`;
  const stop = (): Promise<void> => closeServer(server, shutdownGraceMs, clock);
  try {
    const engine = createEngine({ baseUrl: inferenceUrl, clock, onClose: stop });
    const { address, close } = await serveRuntime({ engine, port, host, clock, apiKey, limits: limitsOf(options) });
    return { address, inferenceUrl, apiKey, close };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** An unset environment variable must not become a valid key. */
function assertNotEmpty(apiKey: string): void {
  if (apiKey !== '') return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'The API key of the runtime must not be empty',
    remedy: 'Set a key (for `agl runtime`: the variable AGL_RUNTIME_KEY), or omit it for a random one.',
  });
}

/** The limits that are set; others keep their defaults. */
function limitsOf(options: ServedRuntimeOptions): Partial<RuntimeLimits> {
  const { resultTtlMs, sessionTtlMs, abandonedModelTtlMs } = options;
  return {
    ...(resultTtlMs !== undefined && { resultTtlMs }),
    ...(sessionTtlMs !== undefined && { sessionTtlMs }),
    ...(abandonedModelTtlMs !== undefined && { abandonedModelTtlMs }),
  };
}

/** A random API key of 256 bits. */
export function randomApiKey(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Writes an API key to a file readable only by its owner (mode 0600). An existing file is replaced, to not keep wider
 * permissions.
 *
 * @example
 * ```ts
 * const apiKey = randomApiKey();
 * await writeKeyFile('.agl/checkpoints/runtime.key', apiKey);
 * ```
 */
export async function writeKeyFile(file: string, apiKey: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, `${apiKey}\n`, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}
