import type { Clock } from '@agentlightning/core';
import type { GatewayLog, RetryOptions } from '../gateway-options.ts';
import type { GatewayMetrics } from '../observe/gateway-metrics.ts';
import type { HealthChecker } from './health-checks.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import type { UpstreamClient, UpstreamResponse } from './upstream-client.ts';

/** The dependencies of a call to an upstream. */
export interface UpstreamCaller {
  readonly client: UpstreamClient;
  readonly health: HealthChecker;
  readonly retry: RetryOptions;
  /** Limit for the time in the queue of an upstream, in milliseconds. */
  readonly queueTimeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: GatewayLog;
  readonly metrics: Pick<GatewayMetrics, 'upstreamTried' | 'retried'>;
  /** Aborts when the gateway closes: nothing is retried then. */
  readonly closing: AbortSignal;
}

/** The response to a call. */
export interface UpstreamResult {
  readonly upstream: RegisteredUpstream;
  readonly response: UpstreamResponse;
  /** The whole body; null for a stream. */
  readonly text: string | null;
}
