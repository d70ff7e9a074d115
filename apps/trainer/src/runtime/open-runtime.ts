import { AgentLightningError } from '@agentlightning/core';
import { isLoopback } from '@agentlightning/core/protocol';
import type { InferenceEndpoint } from '@agentlightning/core/training-runtime';
import { type ConnectRuntimeOptions, connectRuntime, type RuntimeConnection } from '@agentlightning/runtime';
import type { ResolvedRuntime } from '../config/sections/runtime-config.ts';
import { checkpointRoot } from './checkpoint-root.ts';
import { launchEmbeddedRuntime } from './embedded-runtime.ts';
import type { LaunchedRuntime } from './launch-runtime.ts';
import { launchTinkerRuntime } from './tinker-runtime.ts';

/** A connected training runtime. */
export interface OpenRuntime {
  readonly runtime: RuntimeConnection;
  /** The API key that a model endpoint of the runtime requires; null when it is not known to require one. */
  readonly inferenceKey: (endpoint: InferenceEndpoint) => string | null;
  /** Resolves when a runtime process that this one started has ended unexpectedly. */
  readonly died: Promise<AgentLightningError>;
  readonly close: () => Promise<void>;
}

/** Options of {@link openRuntime}. */
export interface OpenRuntimeOptions {
  /** The data directory of the embedded runtime. */
  readonly dataDir: string;
  /** Retry limit for a lost connection, or a runtime that is still starting, in milliseconds. */
  readonly timeoutMs: number;
  /** Called with a message when the runtime does not respond at first. */
  readonly onWait: (message: string) => void;
}

/** A broken connection is retried for this long, even if outages are not tolerated, in milliseconds. */
const minReconnectMs = 15_000;

/** Delay after which a pending connection is reported, in milliseconds. */
const noticeAfterMs = 1000;

/**
 * Connects to the configured runtime, which may start at the same time, or starts the embedded one or the one over a Tinker server.
 *
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not respond or does not start
 */
export async function openRuntime(config: ResolvedRuntime, options: OpenRuntimeOptions): Promise<OpenRuntime> {
  if (config.type === 'grpc') {
    const runtime = await connectWithNotice(config, options);
    const inferenceKey = ({ baseUrl }: InferenceEndpoint): string | null => inferenceKeyOf(config, baseUrl);
    return { runtime, inferenceKey, died: new Promise(() => undefined), close: () => runtime.close() };
  }
  if (config.type === 'openai-fine-tuning') throw withoutWeights(config.baseUrl);
  const place = { checkpointDir: checkpointRoot(options.dataDir) };
  const launched: LaunchedRuntime =
    config.type === 'tinker' ? await launchTinkerRuntime(config, place) : await launchEmbeddedRuntime(place);
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

function withoutWeights(baseUrl: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the fine-tuning API at ${baseUrl} trains on files and does not serve checkpoints of a run`,
    remedy: 'Evaluate the resulting model at its endpoint: `agl eval --endpoint <url> --model <name>`.',
  });
}

/** Connects with retries, and reports a runtime that does not respond at first. */
async function connectWithNotice(
  config: GrpcRuntimeConfig,
  { timeoutMs, onWait }: OpenRuntimeOptions,
): Promise<RuntimeConnection> {
  const reconnectTimeoutMs = Math.max(timeoutMs, minReconnectMs);
  const message = `waiting for the training runtime at ${config.address}, at most ${reconnectTimeoutMs / 1000} s`;
  const notice = setTimeout(() => onWait(message), noticeAfterMs);
  try {
    return await connectRuntime({ ...connectionOf(config), reconnectTimeoutMs });
  } finally {
    clearTimeout(notice);
  }
}

/** The training key is not sent to remote endpoints: the runtime chooses their addresses, and may use plain HTTP. */
function inferenceKeyOf({ inferenceApiKey, apiKey }: GrpcRuntimeConfig, baseUrl: string): string | null {
  if (inferenceApiKey !== undefined) return inferenceApiKey;
  return apiKey !== undefined && isLoopback(new URL(baseUrl).hostname) ? apiKey : null;
}

type GrpcRuntimeConfig = Extract<ResolvedRuntime, { readonly type: 'grpc' }>;

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
