import type { AgentLightningError, TrainingRuntime } from '@agentlightning/core';
import { type ConnectRuntimeOptions, connectRuntime } from '@agentlightning/runtime';
import type { RuntimeConfig } from '../config/train-config.ts';
import { checkpointRoot } from './checkpoint-root.ts';
import { type LaunchedRuntime, launchEmbeddedRuntime } from './embedded-runtime.ts';

/** A training runtime that can be talked to. */
export interface OpenRuntime {
  readonly runtime: TrainingRuntime;
  /** Resolves when a process that this one started has died. */
  readonly died: Promise<AgentLightningError>;
  readonly close: () => Promise<void>;
}

/**
 * Connects to the runtime the configuration names, or starts the embedded one.
 *
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not answer or does not come up
 */
export async function openRuntime(config: RuntimeConfig, dataDir: string): Promise<OpenRuntime> {
  if (config.type === 'grpc') {
    const runtime = await connectRuntime(connectionOf(config));
    return { runtime, died: new Promise(() => undefined), close: () => runtime.close() };
  }
  const launched: LaunchedRuntime = await launchEmbeddedRuntime({ checkpointDir: checkpointRoot(dataDir) });
  try {
    const runtime = await connectRuntime({ address: launched.address });
    const close = async (): Promise<void> => {
      await runtime.close();
      await launched.close();
    };
    return { runtime, died: launched.died, close };
  } catch (error) {
    await launched.close();
    throw error;
  }
}

function connectionOf(config: Extract<RuntimeConfig, { readonly type: 'grpc' }>): ConnectRuntimeOptions {
  const { address, apiKey, tls } = config;
  const { authority, certificate, privateKey, serverName } = tls ?? {};
  return {
    address,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(tls === undefined ? {} : { tls: true }),
    ...(authority === undefined ? {} : { rootCertificates: authority }),
    ...(certificate === undefined || privateKey === undefined
      ? {}
      : { clientCertificate: { certificate, privateKey } }),
    ...(serverName === undefined ? {} : { serverName }),
  };
}
