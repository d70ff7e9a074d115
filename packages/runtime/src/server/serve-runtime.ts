import type { Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { hostAndPort, listenError } from '@agentlightning/core/protocol';
import { Server } from '@grpc/grpc-js';
import { InferenceService } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';
import { ServerReflection } from '../gen/grpc/reflection/v1/reflection_pb.ts';
import { bindService, type ReceivedCall, type ServiceBinding } from '../grpc/service-handlers.ts';
import { defaultRuntimeLimits, maxMessageBytes, type RuntimeLimits } from '../runtime-limits.ts';
import { toServiceError } from '../wire/grpc-error.ts';
import { callGuard } from './call-guard.ts';
import type { RuntimeEngine } from './engine.ts';
import { RuntimeHost } from './runtime-host.ts';
import { assertGuarded, type ServerTls, serverCredentials } from './server-credentials.ts';
import { healthHandlers } from './services/health-service.ts';
import { inferenceHandlers } from './services/inference-service.ts';
import { reflectionHandlers } from './services/reflection-service.ts';
import { runtimeHandlers } from './services/runtime-service.ts';
import { trainingHandlers } from './services/training-service.ts';
import { unloadAbandonedModels } from './unload-abandoned-models.ts';

/** Options of a runtime server. */
export interface ServeRuntimeOptions {
  /** The training engine. */
  readonly engine: RuntimeEngine;
  /** Port to listen on; 0 selects a free port. @default 0 */
  readonly port?: number;
  /**
   * Address to listen on. Beyond loopback it needs `tls`, and an `apiKey` or an authority for client certificates.
   * @default '127.0.0.1'
   */
  readonly host?: string;
  /** Key that every client must send. @default none: every process on this machine can train */
  readonly apiKey?: string;
  /** Encrypts connections. @default none */
  readonly tls?: ServerTls;
  /** Limits other than the defaults. */
  readonly limits?: Partial<RuntimeLimits>;
  /** @default systemClock */
  readonly clock?: Clock;
}

/** A listening training runtime. */
export interface RuntimeServer {
  /** Address for `connectRuntime`: `127.0.0.1:50051`. */
  readonly address: string;
  readonly port: number;
  /** Rejects new calls, lets the running operation finish, ends all connections and the engine. */
  close(): Promise<void>;
}

/** Grace period of open connections when the server stops, in milliseconds. */
const shutdownGraceMs = 1_000;

/** Keep-alive interval of idle connections, and its timeout, in milliseconds. */
const keepaliveMs = 20_000;

/**
 * Serves an engine over the gRPC contract: sessions, sequence, retries, validation, results.
 *
 * @throws AgentLightningError PORT_IN_USE, or CONFIG when it would listen beyond loopback without TLS or authentication
 * @example
 * ```ts
 * const server = await serveRuntime({ engine, port: 50051 });
 * const runtime = await connectRuntime({ address: server.address });
 * ```
 */
export async function serveRuntime(options: ServeRuntimeOptions): Promise<RuntimeServer> {
  const { engine, port = 0, host: hostName = '127.0.0.1', apiKey, tls } = options;
  assertGuarded({ hostName, apiKey, tls });
  const limits = { ...defaultRuntimeLimits, ...options.limits };
  const host = new RuntimeHost({ engine, limits, clock: options.clock ?? systemClock });
  const stopping = new AbortController();
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': keepaliveMs,
    // Two servers on one port would each receive a part of the calls.
    'grpc.so_reuseport': 0,
  });
  for (const binding of bindings(host, stopping.signal, { apiKey, isLocal: tls === undefined })) {
    server.addService(binding.definition, binding.implementation);
  }
  const boundPort = await listen(server, { hostName, port, tls });
  void unloadAbandonedModels(host, options.clock ?? systemClock, stopping.signal);
  let closing: Promise<void> | undefined;
  return {
    address: hostAndPort({ host: hostName, port: boundPort }),
    port: boundPort,
    close: () => {
      closing ??= stop(server, host, stopping);
      return closing;
    },
  };
}

function bindings(
  host: RuntimeHost,
  stopping: AbortSignal,
  { apiKey, isLocal }: { readonly apiKey: string | undefined; readonly isLocal: boolean },
): readonly ServiceBinding[] {
  const environment = (authorize: (call: ReceivedCall) => void) => ({ authorize, toServiceError });
  const guarded = environment(callGuard({ apiKey, isLocal }));
  // Probes have no key.
  const open = environment(callGuard({ apiKey: undefined, isLocal }));
  const services = [RuntimeService, TrainingService, InferenceService, Health, ServerReflection];
  return [
    bindService(RuntimeService, runtimeHandlers(host, stopping), guarded),
    bindService(TrainingService, trainingHandlers(host), guarded),
    bindService(InferenceService, inferenceHandlers(host), guarded),
    bindService(ServerReflection, reflectionHandlers(services), guarded),
    bindService(Health, healthHandlers(host, stopping), open),
  ];
}

async function stop(server: Server, host: RuntimeHost, stopping: AbortController): Promise<void> {
  stopping.abort();
  await host.stop();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), shutdownGraceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

interface ListenOptions {
  readonly hostName: string;
  readonly port: number;
  readonly tls: ServerTls | undefined;
}

function listen(server: Server, { hostName, port, tls }: ListenOptions): Promise<number> {
  const credentials = serverCredentials(tls);
  const at = { host: hostName, port };
  return new Promise((resolve, reject) => {
    server.bindAsync(hostAndPort(at), credentials, (error, boundPort) => {
      if (error === null) resolve(boundPort);
      else reject(listenError('the training runtime', at, error));
    });
  });
}
