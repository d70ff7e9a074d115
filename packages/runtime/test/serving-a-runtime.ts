import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type ConnectRuntimeOptions,
  connectRuntime,
  type EngineCapabilities,
  type RuntimeConnection,
  type RuntimeModel,
  type RuntimeServer,
  type ServeRuntimeOptions,
  serveRuntime,
} from '../src/index.ts';
import { openRawClient } from '../src/testing/raw-client.ts';
import { openRawModel, type RawModel } from '../src/testing/raw-model.ts';
import { GatedEngine } from './bag/gated-engine.ts';

/** A runtime in the test process with a scripted engine. */
export interface ServedRuntime {
  readonly engine: GatedEngine;
  readonly server: RuntimeServer;
  connect(options?: Partial<ConnectRuntimeOptions>): Promise<RuntimeConnection>;
  model(runtime?: RuntimeConnection): Promise<RuntimeModel>;
  rawModel(): Promise<RawModel>;
}

/** Serves until the test is finished. */
export async function serveGatedRuntime(
  options: Partial<ServeRuntimeOptions> = {},
  capabilities: Partial<EngineCapabilities> = {},
): Promise<ServedRuntime> {
  const directory = await mkdtemp(join(tmpdir(), 'runtime-'));
  const engine = new GatedEngine(directory, capabilities);
  const server = await serveRuntime({ engine, ...options });
  onTestFinished(async () => {
    engine.open();
    await server.close();
    await rm(directory, { recursive: true, force: true });
  });
  const connect: ServedRuntime['connect'] = async (overrides = {}) => {
    const runtime = await connectRuntime({ address: server.address, ...overrides });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  return {
    engine,
    server,
    connect,
    model: async (runtime) =>
      (runtime ?? (await connect())).createModel({ baseModel: 'bag', modelId: 'model', seed: 1 }),
    rawModel: async () => {
      const client = openRawClient(server.address);
      onTestFinished(() => client.close());
      return openRawModel(client, 'model');
    },
  };
}
