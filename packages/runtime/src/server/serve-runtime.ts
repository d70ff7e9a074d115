import type { Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { hostAndPort } from '@agentlightning/core/protocol';
import type { ConnectRouter } from '@connectrpc/connect';
import type { UniversalHandlerOptions } from '@connectrpc/connect/protocol';
import { InferenceService } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';
import { ServerReflection } from '../gen/grpc/reflection/v1/reflection_pb.ts';
import { defaultRuntimeLimits, type RuntimeLimits } from '../runtime-limits.ts';
import { type CallGuardOptions, callGuard, type ReceivedCall } from './call-guard.ts';
import { convertErrors, errorInterceptor } from './convert-errors.ts';
import type { RuntimeEngine } from './engine.ts';
import { type GrpcServer, listenGrpc } from './listen-grpc.ts';
import { RuntimeHost } from './runtime-host.ts';
import { assertGuarded, type ServerTls } from './server-credentials.ts';
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
  const routes = runtimeRoutes(host, stopping.signal, { apiKey, isLocal: tls === undefined });
  const server = await listenGrpc({ hostName, port, tls, routes });
  void unloadAbandonedModels(host, options.clock ?? systemClock, stopping.signal);
  let closing: Promise<void> | undefined;
  return {
    address: hostAndPort({ host: hostName, port: server.port }),
    port: server.port,
    close: () => {
      closing ??= stop(server, host, stopping);
      return closing;
    },
  };
}

function runtimeRoutes(
  host: RuntimeHost,
  stopping: AbortSignal,
  { apiKey, isLocal }: CallGuardOptions,
): (router: ConnectRouter) => void {
  const behind = (authorize: (call: ReceivedCall) => void): Partial<UniversalHandlerOptions> => ({
    requestGate: (call) => convertErrors(() => authorize(call)),
    interceptors: [errorInterceptor],
  });
  const guarded = behind(callGuard({ apiKey, isLocal }));
  // Probes have no key.
  const open = behind(callGuard({ apiKey: undefined, isLocal }));
  const services = [RuntimeService, TrainingService, InferenceService, Health, ServerReflection];
  return (router) => {
    router.service(RuntimeService, runtimeHandlers(host, stopping), guarded);
    router.service(TrainingService, trainingHandlers(host), guarded);
    router.service(InferenceService, inferenceHandlers(host), guarded);
    router.service(ServerReflection, reflectionHandlers(services), guarded);
    router.service(Health, healthHandlers(host, stopping), open);
  };
}

async function stop(server: GrpcServer, host: RuntimeHost, stopping: AbortController): Promise<void> {
  stopping.abort();
  await host.stop();
  await server.close();
}
