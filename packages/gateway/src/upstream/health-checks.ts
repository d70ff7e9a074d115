import type { Clock } from '@agentlightning/core';
import type { GatewayLog, HealthCheckOptions } from '../gateway-options.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import type { UpstreamClient } from './upstream-client.ts';

/** How upstreams are checked unless told otherwise. */
export const defaultHealthChecks: HealthCheckOptions = { of: 'down', intervalMs: 5000, timeoutMs: 5000 };

/** What health checks work with. */
export interface HealthCheckerOptions {
  readonly client: UpstreamClient;
  readonly clock: Clock;
  readonly log: GatewayLog;
  readonly checks: HealthCheckOptions;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
}

/** Notes how upstreams do, and asks those that are down until they are back. */
export class HealthChecker {
  readonly #options: HealthCheckerOptions;
  readonly #watched: Set<RegisteredUpstream> = new Set();

  constructor(options: HealthCheckerOptions) {
    this.#options = options;
  }

  /** An upstream was registered. */
  added(upstream: RegisteredUpstream): void {
    if (this.#options.checks.of === 'all') void this.#watch(upstream);
  }

  /** A call, or a check, was answered. */
  succeeded(upstream: RegisteredUpstream): void {
    if (upstream.health.succeeded()) this.#options.log.warn({ upstream: upstream.id }, 'a model endpoint is back');
  }

  /** A call, or a check, failed. */
  failed(upstream: RegisteredUpstream, reason: string): void {
    if (!upstream.health.failed(reason)) return;
    this.#options.log.warn({ upstream: upstream.id, reason }, 'a model endpoint is down; others are tried first');
    void this.#watch(upstream);
  }

  /** Checks an upstream until it is up, or for as long as it is registered. */
  async #watch(upstream: RegisteredUpstream): Promise<void> {
    if (this.#watched.has(upstream)) return;
    this.#watched.add(upstream);
    const { clock, checks, closing } = this.#options;
    const isOver = AbortSignal.any([closing, upstream.removed.signal]);
    while (!isOver.aborted && (checks.of === 'all' || !upstream.health.isUp)) {
      // A sleep that is cut short says so in the signal.
      await clock.sleep(checks.intervalMs, isOver).catch(() => undefined);
      if (!isOver.aborted) await this.#check(upstream, isOver);
    }
    this.#watched.delete(upstream);
  }

  async #check(upstream: RegisteredUpstream, isOver: AbortSignal): Promise<void> {
    const { client, checks } = this.#options;
    const signal = AbortSignal.any([isOver, AbortSignal.timeout(checks.timeoutMs)]);
    try {
      const status = await client.check(upstream, signal);
      if (status < 500) this.succeeded(upstream);
      else this.failed(upstream, `its health check answered ${status}`);
    } catch (error) {
      if (!isOver.aborted) this.failed(upstream, error instanceof Error ? error.message : String(error));
    }
  }
}
