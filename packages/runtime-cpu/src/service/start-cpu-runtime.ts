import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { serveRuntime } from '@agentlightning/runtime';
import { createAdaptorServer, type ServerType } from '@hono/node-server';
import { CpuRuntimeEngine } from './cpu-runtime-engine.ts';
import { inferenceApp } from './inference-app.ts';
import type { ModelDirectory } from './model-directory.ts';

/** How to start the embedded runtime. It listens on this machine only. */
export interface CpuRuntimeOptions {
  /** Where checkpoints lie, a folder for each model; made when it is not there. */
  readonly checkpointDir: string;
  /** The gRPC port; 0 takes any free one. @default 0 */
  readonly port?: number;
  /** The port of the model API; 0 takes any free one. @default 0 */
  readonly inferencePort?: number;
}

/** The embedded runtime at work. */
export interface CpuRuntime {
  /** `host:port` of the gRPC server; give it to `connectRuntime`. */
  readonly address: string;
  /** The base URL of the model API, up to and with `/v1`. */
  readonly inferenceUrl: string;
  /** Takes nothing more in, lets the operation that runs finish, and stops. */
  close(): Promise<void>;
}

const host = '127.0.0.1';

/**
 * Starts the embedded runtime in this process: gRPC for training, OpenAI's API for sampling.
 *
 * @throws AgentLightningError PORT_IN_USE when a port is taken
 * @example
 * ```ts
 * const server = await startCpuRuntime({ checkpointDir: '.agl/checkpoints' });
 * const runtime = await connectRuntime({ address: server.address });
 * ```
 */
export async function startCpuRuntime(options: CpuRuntimeOptions): Promise<CpuRuntime> {
  const models: ModelDirectory = new Map();
  const { fetch } = inferenceApp(models);
  const server = createAdaptorServer({
    fetch,
    overrideGlobalObjects: false,
    serverOptions: { keepAliveTimeout: 65_000 },
  });
  const port = await listen(server, options.inferencePort ?? 0);
  const inferenceUrl = `http://${host}:${port}/v1`;
  const engine = new CpuRuntimeEngine({
    checkpointDir: path.resolve(options.checkpointDir),
    models,
    baseUrl: inferenceUrl,
    onClose: () => stop(server),
  });
  try {
    const { address, close } = await serveRuntime({ engine, port: options.port ?? 0, host });
    return { address, inferenceUrl, close };
  } catch (error) {
    await stop(server);
    throw error;
  }
}

function listen(server: ServerType, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `port ${port} of ${host} is taken`;
      reject(cause.code === 'EADDRINUSE' ? new AgentLightningError({ code: 'PORT_IN_USE', message, cause }) : cause);
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

function stop(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
}
