import type { AgentLightningError, TrainingRuntime } from '@agentlightning/core';
import { isLoopback } from '@agentlightning/core/protocol';
import type { InferenceEndpoint } from '@agentlightning/core/training-runtime';
import { type ConnectRuntimeOptions, connectRuntime } from '@agentlightning/runtime';
import type { RuntimeConfig } from '../config/train-config.ts';
import { checkpointRoot } from './checkpoint-root.ts';
import { type LaunchedRuntime, launchEmbeddedRuntime } from './embedded-runtime.ts';

/** A connected training runtime. */
export interface OpenRuntime {
  readonly runtime: TrainingRuntime;
  /** The API key that a model endpoint of the runtime requires; null when it is not known to require one. */
  readonly inferenceKey: (endpoint: InferenceEndpoint) => string | null;
  /** Resolves when a runtime process that this one started has ended unexpectedly. */
  readonly died: Promise<AgentLightningError>;
  readonly close: () => Promise<void>;
}

/**
 * Connects to the configured runtime, or starts the embedded one.
 *
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not respond or does not start
 */
export async function openRuntime(config: RuntimeConfig, dataDir: string): Promise<OpenRuntime> {
  if (config.type === 'grpc') {
    const runtime = await connectRuntime(connectionOf(config));
    const inferenceKey = ({ baseUrl }: InferenceEndpoint): string | null => inferenceKeyOf(config, baseUrl);
    return { runtime, inferenceKey, died: new Promise(() => undefined), close: () => runtime.close() };
  }
  const launched: LaunchedRuntime = await launchEmbeddedRuntime({ checkpointDir: checkpointRoot(dataDir) });
  try {
    const runtime = await connectRuntime({ address: launched.address, apiKey: launched.apiKey });
    const close = async (): Promise<void> => {
      await runtime.close();
      await launched.close();
    };
    return { runtime, inferenceKey: () => launched.apiKey, died: launched.died, close };
  } catch (error) {
    await launched.close();
    throw error;
  }
}

/** The training key is not sent to remote endpoints: the runtime chooses their addresses, and may use plain HTTP. */
function inferenceKeyOf({ inferenceApiKey, apiKey }: GrpcRuntimeConfig, baseUrl: string): string | null {
  if (inferenceApiKey !== undefined) return inferenceApiKey;
  return apiKey !== undefined && isLoopback(new URL(baseUrl).hostname) ? apiKey : null;
}

type GrpcRuntimeConfig = Extract<RuntimeConfig, { readonly type: 'grpc' }>;

function connectionOf(config: GrpcRuntimeConfig): ConnectRuntimeOptions {
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
