import { createServer } from 'node:http';
import path from 'node:path';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import { respondToWholeRequests, systemClock } from '@agentlightning/core/internal';
import { closeServer, listen } from '@agentlightning/core/protocol';
import { type RuntimeLimits, serveRuntime } from '@agentlightning/runtime';
import { getRequestListener } from '@hono/node-server';
import { type BaseModel, baseModels } from '../base-models.ts';
import { CpuRuntimeEngine } from './cpu-runtime-engine.ts';
import { inferenceApp } from './inference-app.ts';
import { randomApiKey } from './key-file.ts';
import type { ModelDirectory } from './model-directory.ts';

/** Options of the embedded runtime. It listens on loopback only. */
export interface CpuRuntimeOptions {
  /** Parent folder of checkpoints, with a folder for each model; created if missing. */
  readonly checkpointDir: string;
  /** The gRPC port; 0 selects a free port. @default 0 */
  readonly port?: number;
  /** The port of the model API; 0 selects a free port. @default 0 */
  readonly inferencePort?: number;
  /** API key of gRPC clients and of the model API. @default a random one; see `CpuRuntime.apiKey` */
  readonly apiKey?: string;
  /** Retention of operation results, in milliseconds. @default 3600000 */
  readonly resultTtlMs?: number;
  /** Idle time after which a client's session expires, in milliseconds. @default 300000 */
  readonly sessionTtlMs?: number;
  /** Retention of models without a session, in milliseconds; 0 for unlimited. @default 3600000 */
  readonly abandonedModelTtlMs?: number;
  /** The base models offered to clients. @default all of this package */
  readonly baseModels?: readonly BaseModel[];
  /** @default systemClock */
  readonly clock?: Clock;
}

/** A running embedded runtime. */
export interface CpuRuntime {
  /** `host:port` of the gRPC server, for `connectRuntime`. */
  readonly address: string;
  /** The base URL of the model API, including `/v1`. */
  readonly inferenceUrl: string;
  /** The API key of both servers. */
  readonly apiKey: string;
  /** Rejects new calls, lets the running operation finish, and stops. */
  close(): Promise<void>;
}

const host = '127.0.0.1';

/** Keep-alive timeout of idle connections of the model API: agents pause between calls. */
const keepAliveMs = 65_000;

/** Grace period of responses in flight when the server stops. */
const shutdownGraceMs = 1_000;

/**
 * Starts the embedded runtime in this process: gRPC for training, OpenAI's API for sampling.
 *
 * @throws AgentLightningError PORT_IN_USE when a port is taken; CONFIG when the API key is empty
 * @example
 * ```ts
 * const server = await startCpuRuntime({ checkpointDir: '.agl/checkpoints' });
 * const runtime = await connectRuntime({ address: server.address, apiKey: server.apiKey });
 * ```
 */
export async function startCpuRuntime(options: CpuRuntimeOptions): Promise<CpuRuntime> {
  const models: ModelDirectory = new Map();
  const clock = options.clock ?? systemClock;
  const { apiKey = randomApiKey() } = options;
  assertNotEmpty(apiKey);
  const { fetch } = inferenceApp({ models, apiKey, clock });
  const listener = getRequestListener(respondToWholeRequests(fetch), { overrideGlobalObjects: false });
  const server = createServer({ keepAliveTimeout: keepAliveMs }, listener);
  const inferencePort = await listen(server, 'the model API of the embedded runtime', {
    host,
    port: options.inferencePort ?? 0,
  });
  const inferenceUrl = `http://${host}:${inferencePort}/v1`;
  const stop = (): Promise<void> => closeServer(server, shutdownGraceMs, clock);
  const engine = new CpuRuntimeEngine({
    checkpointDir: path.resolve(options.checkpointDir),
    models,
    baseModels: options.baseModels ?? baseModels,
    baseUrl: inferenceUrl,
    clock,
    onClose: stop,
  });
  try {
    const { port = 0 } = options;
    const { address, close } = await serveRuntime({
      engine,
      port,
      host,
      clock,
      apiKey,
      limits: limitsOf(options),
    });
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
function limitsOf(options: CpuRuntimeOptions): Partial<RuntimeLimits> {
  const { resultTtlMs, sessionTtlMs, abandonedModelTtlMs } = options;
  return {
    ...(resultTtlMs !== undefined && { resultTtlMs }),
    ...(sessionTtlMs !== undefined && { sessionTtlMs }),
    ...(abandonedModelTtlMs !== undefined && { abandonedModelTtlMs }),
  };
}
