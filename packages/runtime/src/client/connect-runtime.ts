import { randomUUID } from 'node:crypto';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { createClient } from '@connectrpc/connect';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { InferenceService } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import { type GetCapabilitiesResponse, RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { CallPolicy } from './call-policy.ts';
import { type ClientCertificate, channelTls } from './client-credentials.ts';
import { GrpcRuntime, type RuntimeConnection } from './grpc-runtime.ts';
import { openTransport } from './open-transport.ts';
import type { OperationStatus } from './operation-status.ts';
import type { RuntimeLink } from './runtime-link.ts';

/** Options of a connection to a training runtime. */
export interface ConnectRuntimeOptions {
  /** `host:port`, such as `127.0.0.1:50051`. */
  readonly address: string;
  /** The runtime's key. @default none */
  readonly apiKey?: string;
  /** Whether to encrypt. @default false for loopback, true for any other host, where false is rejected */
  readonly tls?: boolean;
  /** Trusted certificates instead of the system's, in PEM: those of a private authority. */
  readonly rootCertificates?: string;
  /** The client's certificate and key, in PEM, for a runtime that requires mutual TLS. @default none */
  readonly clientCertificate?: ClientCertificate;
  /** The name in the runtime's certificate when it differs from that of `address`, as through a tunnel. */
  readonly serverName?: string;
  /**
   * Retry limit for a lost connection, in milliseconds; then pending operations are rejected with `RUNTIME_UNAVAILABLE`.
   * Larger values survive longer interruptions but detect a dead runtime later. @default 15000
   */
  readonly reconnectTimeoutMs?: number;
  /** Timeout of a unary call, in milliseconds. @default 30000 */
  readonly callTimeoutMs?: number;
  /** Keep-alive interval of an idle connection, and its timeout, in milliseconds. @default 20000 */
  readonly keepaliveMs?: number;
  /**
   * Called for every new or changed operation of this connection's models, and about once a second for waiting and
   * running ones: reason, queue position and progress. Must not throw. @default none
   */
  readonly onOperation?: (status: OperationStatus) => void;
  /** @default systemClock */
  readonly clock?: Clock;
}

const supportedApiVersion = 'v1';

/**
 * Connects to a training runtime and opens a session. A runtime that is still starting is retried like a lost
 * connection.
 *
 * @throws RuntimeError RUNTIME_UNAVAILABLE when it cannot be reached, UNAUTHENTICATED for a wrong key
 * @throws AgentLightningError CONFIG when plain text would be sent over a network
 * @example
 * ```ts
 * const runtime = await connectRuntime({ address: '127.0.0.1:50051' });
 * const model = await runtime.createModel({ baseModel: 'tiny', modelId: 'run-1', seed: 7 });
 * const batch = await model.forwardBackward({ data }, { name: 'ppo', parameters: {} });
 * const step = await model.optimStep({ learningRate: 1e-3 }); // no wait in between
 * console.log((await batch.result).loss, (await step.result).gradientNorm);
 * await runtime.close();
 * ```
 */
export async function connectRuntime(options: ConnectRuntimeOptions): Promise<RuntimeConnection> {
  const clock = options.clock ?? systemClock;
  const { address, apiKey, keepaliveMs = 20_000, callTimeoutMs = 30_000 } = options;
  assertAddress(address);
  const { transport, close } = openTransport({ address, apiKey, keepaliveMs, callTimeoutMs, tls: channelTls(options) });
  const closing = new AbortController();
  const policy = new CallPolicy({
    address,
    clock,
    reconnectTimeoutMs: options.reconnectTimeoutMs ?? 15_000,
    signal: closing.signal,
  });
  const runtime = createClient(RuntimeService, transport);
  try {
    const capabilities = await policy.run(() => runtime.getCapabilities({}));
    assertVersion(capabilities, address);
    const clientSessionKey = randomUUID();
    const { sessionId } = await policy.run(() =>
      runtime.createSession({ clientSessionKey, clientVersion: 'agentlightning-ts' }),
    );
    const link: RuntimeLink = {
      runtime,
      training: createClient(TrainingService, transport),
      inference: createClient(InferenceService, transport),
      sessionId,
      policy,
      clock,
      reorderWindow: capabilities.reorderWindow,
      onOperation: options.onOperation ?? (() => {}),
      signal: closing.signal,
    };
    return new GrpcRuntime({ link, capabilities, disconnect: close, closing });
  } catch (error) {
    close();
    throw error;
  }
}

function assertAddress(address: string): void {
  if (URL.canParse(`http://${address}`)) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `Invalid address of a training runtime: "${address}"`,
    remedy: 'Pass host:port, such as 127.0.0.1:50051.',
  });
}

function assertVersion({ apiVersions }: GetCapabilitiesResponse, address: string): void {
  if (apiVersions.includes(supportedApiVersion)) return;
  throw new RuntimeError({
    reason: ErrorReason.INVALID,
    message: `The runtime at ${address} supports ${apiVersions.join(', ') || 'no version'} of the contract; this client requires ${supportedApiVersion}`,
    remedy: 'Use versions of runtime and client with the same contract version.',
  });
}
