import type { Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { crossOriginReason, hostAndPort, isSameSecret } from '@agentlightning/core/protocol';
import type { ConnectRouter, HandlerContext, Interceptor, ServiceImpl } from '@connectrpc/connect';
import type { UniversalHandlerOptions } from '@connectrpc/connect/protocol';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { InferenceService, PauseMode } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '../gen/grpc/health/v1/health_pb.ts';
import { ServerReflection } from '../gen/grpc/reflection/v1/reflection_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { defaultRuntimeLimits, type RuntimeLimits } from '../runtime-limits.ts';
import { toConnectError } from '../wire/grpc-error.ts';
import type { PauseMode as EnginePauseMode, RuntimeEngine } from './engine.ts';
import { invalid } from './invalid.ts';
import { type GrpcServer, listenGrpc } from './listen-grpc.ts';
import { assertMade, RuntimeHost } from './runtime-host.ts';
import { assertGuarded, type ServerTls } from './server-credentials.ts';
import { reflectionHandlers } from './services/reflection-service.ts';
import { runtimeHandlers } from './services/runtime-service.ts';
import { trainingHandlers } from './services/training-service.ts';

const engineModes: Partial<Record<PauseMode, EnginePauseMode>> = {
  [PauseMode.DRAIN]: 'drain',
  [PauseMode.ABORT]: 'abort',
};

/** Control of sampling. */
function inferenceHandlers(host: RuntimeHost): ServiceImpl<typeof InferenceService> {
  return {
    getEndpoint: async ({ modelId }) => ({ endpoint: await host.engineModel(modelId).endpoint() }),
    pause: async ({ sessionId, modelId, mode }) => {
      const model = assertMade(host.ownedModel(sessionId, modelId));
      const engineMode = engineModes[mode];
      if (engineMode === undefined) throw invalid('mode', `is ${mode}; it must be DRAIN or ABORT`);
      return { state: await model.pause(engineMode) };
    },
    resume: async ({ sessionId, modelId }) => ({
      state: await assertMade(host.ownedModel(sessionId, modelId)).resume(),
    }),
  };
}

/** Runs a function; converts what it throws to the contract's errors. */
function convertErrors<TResult>(run: () => TResult): TResult {
  try {
    return run();
  } catch (error) {
    throw toConnectError(error);
  }
}

/** Converts what handlers throw, before their first response and after it, to the contract's errors. */
const errorInterceptor: Interceptor = (next) => async (request) => {
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: convertingErrors(response.message) } : response;
  } catch (error) {
    throw toConnectError(error);
  }
};

async function* convertingErrors<TMessage>(messages: AsyncIterable<TMessage>): AsyncGenerator<TMessage> {
  try {
    yield* messages;
  } catch (error) {
    throw toConnectError(error);
  }
}

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
  /** The port that it listens on. */
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

/** The parts of a call that are available before its messages. */
type ReceivedCall = Pick<HandlerContext, 'requestHeader' | 'url'>;

/** The checks of a call. */
interface CallGuardOptions {
  /** Undefined when no key is required. */
  readonly apiKey: string | undefined;
  /** Whether the server is on loopback in plain text, where only this machine may call. */
  readonly isLocal: boolean;
}

/** A function that throws for a call that must be rejected. */
function callGuard({ apiKey, isLocal }: CallGuardOptions): (call: ReceivedCall) => void {
  const expected = apiKey === undefined ? null : `Bearer ${apiKey}`;
  return (call) => {
    if (isLocal) assertLocal(call);
    if (expected !== null) assertKey(call.requestHeader.get('authorization') ?? '', expected);
  };
}

function assertLocal(call: ReceivedCall): void {
  const reason = crossOriginReason({ host: new URL(call.url).host, origin: call.requestHeader.get('origin') });
  if (reason === null) return;
  throw new RuntimeError({
    reason: ErrorReason.UNAUTHENTICATED,
    message: `A training runtime on loopback accepts calls of this machine only, and ${reason}`,
    remedy: 'Call it at localhost, or serve it with TLS.',
  });
}

function assertKey(sent: string, expected: string): void {
  if (isSameSecret(sent, expected)) return;
  throw new RuntimeError({
    reason: ErrorReason.UNAUTHENTICATED,
    message: sent === '' ? 'The call has no API key' : 'The API key of the call is wrong',
    remedy: 'Pass the API key of the runtime as `apiKey` to connectRuntime.',
  });
}

/** gRPC's health service; needs no key. */
function healthHandlers(host: RuntimeHost, stopping: AbortSignal): ServiceImpl<typeof Health> {
  const isKnown = (service: string): boolean => service === '' || service.startsWith('agentlightning.runtime.v1.');
  const status = (): { status: ServingStatus } => ({
    status: host.isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
  });
  return {
    check: async ({ service }) => {
      if (isKnown(service)) return status();
      throw new RuntimeError({
        reason: ErrorReason.NOT_FOUND,
        message: `Service "${service}" not found`,
      });
    },
    watch: async function* ({ service }, { signal: gone }) {
      if (!isKnown(service)) {
        yield { status: ServingStatus.SERVICE_UNKNOWN };
        await aborted(AbortSignal.any([gone, stopping]));
        return;
      }
      yield status();
      await aborted(AbortSignal.any([gone, stopping]));
      yield { status: ServingStatus.NOT_SERVING };
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Bounds of the check interval, in milliseconds. */
const [shortestMs, longestMs] = [20, 60_000];

/**
 * Periodically unloads models without an owner, until the signal aborts. Clients that have ended do not trigger it.
 */
async function unloadAbandonedModels(host: RuntimeHost, clock: Clock, signal: AbortSignal): Promise<void> {
  const { sessionTtlMs, abandonedModelTtlMs } = host.limits;
  if (abandonedModelTtlMs === 0) return;
  // Often enough to observe every session before it expires.
  const intervalMs = Math.min(longestMs, Math.max(shortestMs, Math.min(sessionTtlMs, abandonedModelTtlMs) / 4));
  while (!signal.aborted) {
    try {
      await clock.sleep(intervalMs, signal);
    } catch {
      return;
    }
    // An engine that fails to free a model must not end the server: the check repeats.
    await host.unloadAbandoned().catch(() => {});
  }
}
