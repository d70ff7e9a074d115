import { AgentLightningError, type Clock } from '@agentlightning/core';
import { SecretFields, systemClock } from '@agentlightning/core/internal';
import { RevokedAttemptTokens } from '@agentlightning/core/protocol';
import { Access } from './access/access.ts';
import { aglServerSampling } from './agl-server/create-agl-server.ts';
import { AttemptDirectory } from './attempts/attempt-directory.ts';
import { AttemptWatch } from './attempts/attempt-watch.ts';
import { CallsInFlight } from './attempts/calls-in-flight.ts';
import { PauseGate } from './attempts/pause-gate.ts';
import { UnattributedCalls } from './attempts/unattributed-calls.ts';
import { CallRecorder } from './capture/call-recorder.ts';
import { GatewayMetrics } from './capture/gateway-metrics.ts';
import { ProductionRecords } from './capture/production-records.ts';
import { SpanWriter } from './capture/span-writer.ts';
import type { ModelCallServices } from './model-api/model-call-services.ts';
import { SampledArguments } from './model-api/sampled-arguments.ts';
import { TokenContinuity } from './model-api/token-continuity.ts';
import { CachedConversations } from './responses/cached-conversations.ts';
import { defaultRetry } from './upstream/call-with-failover.ts';
import { defaultHealthChecks, HealthChecker } from './upstream/health-checks.ts';
import { UpstreamClient } from './upstream/upstream-client.ts';
import { UpstreamPool } from './upstream/upstream-pool.ts';
import type { GatewayLog, GatewayOptions } from './wire/gateway-options.ts';
import { maxBytesInFlight } from './wire/request-body.ts';

/** The components of a gateway, without its routes. */
export interface GatewayComponents {
  readonly clock: Clock;
  readonly log: GatewayLog;
  readonly services: ModelCallServices;
  readonly writer: SpanWriter;
  readonly production: ProductionRecords;
  readonly metrics: GatewayMetrics;
  readonly unattributedCalls: UnattributedCalls;
  readonly watch: AttemptWatch;
  readonly gate: PauseGate;
  readonly calls: CallsInFlight;
  readonly access: Access;
  /** Aborted when the gateway closes. */
  readonly closing: AbortController;
}

const silentLog: GatewayLog = { warn: () => undefined, error: () => undefined };

/** Creates the components. @throws AgentLightningError with code CONFIG for an invalid upstream URL */
export function createGatewayComponents(options: GatewayOptions): GatewayComponents {
  const clock: Clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  // A client awaits each span before its next call, so concurrent batches cannot reorder dependent spans.
  const maxBatches = options.durability === 'background' ? 1 : 4;
  const writer = new SpanWriter({ store: options.store, clock, log, maxBatches });
  const production = new ProductionRecords({ store: options.store, log });
  const closing = new AbortController();
  const gate = new PauseGate(clock);
  const calls = new CallsInFlight({ maxCalls: options.maxCallsInFlight ?? 4096, maxBytes: maxBytesInFlight() });
  const metrics = new GatewayMetrics(
    {
      state: () => gate.state(),
      upstreams: () => services.pool.states(),
      production: () => production.counts,
      deployments: options.deployments ?? null,
    },
    options.registry,
  );
  const unattributedCalls = new UnattributedCalls({ store: options.store, clock, log });
  const services = createServices(options, {
    clock,
    log,
    writer,
    production,
    metrics,
    unattributedCalls,
    closing: closing.signal,
  });
  return {
    clock,
    log,
    services,
    writer,
    production,
    metrics,
    unattributedCalls,
    gate,
    calls,
    watch: new AttemptWatch({ store: options.store, calls, clock, log, closing: closing.signal }),
    access: new Access({
      apiKey: options.apiKey ?? null,
      adminKey: options.adminKey ?? null,
      attemptTokens: options.attemptTokens ?? null,
      keys: options.keys ?? null,
      revokedTokens: new RevokedAttemptTokens({ read: () => options.store.revokedAttemptTokens(), clock }),
    }),
    closing,
  };
}

interface Foundations {
  readonly clock: Clock;
  readonly log: GatewayLog;
  readonly writer: SpanWriter;
  readonly production: ProductionRecords;
  readonly metrics: GatewayMetrics;
  readonly unattributedCalls: UnattributedCalls;
  readonly closing: AbortSignal;
}

function createServices(options: GatewayOptions, foundations: Foundations): ModelCallServices {
  const { clock, log, writer, production, metrics, unattributedCalls, closing } = foundations;
  const silenceTimeoutMs = timeoutOf('upstreamTimeoutMs', options.upstreamTimeoutMs ?? 600_000);
  const client = new UpstreamClient({
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    silenceTimeoutMs,
    clock,
  });
  const { firstByteTimeoutMs } = options;
  const checks = { ...defaultHealthChecks, ...options.healthChecks };
  const health = new HealthChecker({ client, clock, log, checks, closing });
  return {
    pool: new UpstreamPool({
      upstream: options.upstream,
      mayBeEmpty: options.aglServer === true || options.mayBeEmpty === true,
      ...(options.onlyKnownModels === undefined ? {} : { onlyKnownModels: options.onlyKnownModels }),
      onAdded: (upstream) => health.added(upstream),
    }),
    upstreamServices: {
      client,
      health,
      firstByteTimeoutMs: firstByteTimeoutMs === undefined ? null : timeoutOf('firstByteTimeoutMs', firstByteTimeoutMs),
      silenceTimeoutMs,
      queueTimeoutMs: options.queueTimeoutMs ?? 60_000,
      retry: { ...defaultRetry, ...options.retry },
      onRejectedKey: options.onRejectedKey ?? (() => undefined),
      clock,
      random: options.random ?? Math.random,
      log,
      metrics,
      closing,
    },
    directory: new AttemptDirectory(options.store, options.unattributedCalls === 'pass' ? null : unattributedCalls),
    metrics,
    deployments: options.deployments ?? null,
    store: options.store,
    recorder: new CallRecorder({
      writer,
      production,
      durability: options.durability ?? 'before-response',
      log,
      secretFields: new SecretFields(options.secretFields),
      onEnded: (started, ended, untrainable) => metrics.callEnded(started, ended, untrainable),
    }),
    continuity: new TokenContinuity(client, log),
    sampledArguments: new SampledArguments(),
    conversations: new CachedConversations(options.store),
    sampling: options.sampling ?? (options.aglServer === true ? aglServerSampling : {}),
  };
}

/** @throws AgentLightningError CONFIG unless the timeout is above 0 */
function timeoutOf(name: string, timeoutMs: number): number {
  if (timeoutMs > 0 && timeoutMs <= maxTimerMs) return timeoutMs;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `invalid gateway option \`${name}\`: ${timeoutMs}`,
    remedy: `Set a number of milliseconds above 0, up to ${maxTimerMs}.`,
  });
}

/** The longest delay of a Node timer. */
const maxTimerMs = 2 ** 31 - 1;
