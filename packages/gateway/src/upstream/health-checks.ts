import type { Clock } from '@agentlightning/core';
import { backoffMs, errorMessage } from '@agentlightning/core/internal';
import type { GatewayLog, HealthCheckOptions } from '../wire/gateway-options.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import { type UpstreamClient, UpstreamTimeout } from './upstream-client.ts';

/** The default health checks. */
export const defaultHealthChecks: HealthCheckOptions = {
  of: 'down',
  intervalMs: 5000,
  maxIntervalMs: 60_000,
  timeoutMs: 5000,
};

/** The dependencies of health checks. */
export interface HealthCheckerOptions {
  readonly client: Pick<UpstreamClient, 'check'>;
  readonly clock: Clock;
  readonly log: GatewayLog;
  readonly checks: HealthCheckOptions;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
}

/**
 * Maintains the health of upstreams. Checks those that are down with exponential backoff until they recover, and those
 * with requests that wait for their first byte: when such an upstream is found down, these requests are aborted and can
 * fail over.
 */
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

  /** A request that can be sent to another upstream is about to be sent. */
  sending(upstream: RegisteredUpstream): void {
    void this.#watch(upstream);
  }

  /** A call succeeded. */
  succeeded(upstream: RegisteredUpstream): void {
    if (upstream.health.succeeded()) this.#recovered(upstream);
  }

  /** A call failed. @param isConclusive - takes the upstream out at once */
  failed(upstream: RegisteredUpstream, reason: string, isConclusive = false): void {
    if (!upstream.health.failed(reason, isConclusive)) return;
    this.#wentDown(upstream, reason);
    void this.#watch(upstream);
  }

  /** Checks an upstream until it is up and has no waiting request, or is removed. */
  async #watch(upstream: RegisteredUpstream): Promise<void> {
    if (this.#watched.has(upstream)) return;
    this.#watched.add(upstream);
    const { clock, checks, closing } = this.#options;
    const hasEnded = AbortSignal.any([closing, upstream.removed.signal]);
    const isDone = (): boolean => checks.of === 'down' && upstream.health.isUp && upstream.waiting.size === 0;
    do {
      // An aborted sleep ends early; the signal is read below.
      await clock.sleep(this.#delayMs(upstream), hasEnded).catch(() => undefined);
      if (!hasEnded.aborted && this.#isDue(upstream)) await this.#check(upstream, hasEnded);
    } while (!hasEnded.aborted && !isDone());
    this.#watched.delete(upstream);
  }

  #delayMs({ health }: RegisteredUpstream): number {
    const { intervalMs, maxIntervalMs } = this.#options.checks;
    if (health.isUp) return intervalMs;
    return backoffMs({ baseDelayMs: intervalMs, maxDelayMs: maxIntervalMs }, health.cooldowns);
  }

  /** One that is up is checked once a request has waited for an interval. */
  #isDue({ health, waiting }: RegisteredUpstream): boolean {
    const { checks, clock } = this.#options;
    if (checks.of === 'all' || !health.isUp) return true;
    const [oldestMs] = waiting.values();
    return oldestMs !== undefined && clock.now() - oldestMs >= checks.intervalMs;
  }

  async #check(upstream: RegisteredUpstream, hasEnded: AbortSignal): Promise<void> {
    const { client, checks } = this.#options;
    const signal = AbortSignal.any([hasEnded, AbortSignal.timeout(checks.timeoutMs)]);
    try {
      const status = await client.check(upstream, signal);
      if (status >= 500) this.#checkFailed(upstream, `its health check returned ${status}`);
      else if (upstream.health.checkSucceeded()) this.#recovered(upstream);
    } catch (error) {
      if (!hasEnded.aborted) this.#checkFailed(upstream, errorMessage(error));
    }
  }

  #checkFailed(upstream: RegisteredUpstream, reason: string): void {
    if (upstream.health.checkFailed(reason)) this.#wentDown(upstream, reason);
    if (upstream.health.isUp) return;
    for (const request of upstream.waiting.keys()) {
      request.abort(new UpstreamTimeout(`its health checks failed while the request waited: ${reason}`));
    }
  }

  #wentDown({ id, health }: RegisteredUpstream, reason: string): void {
    this.#options.log.warn(
      { upstream: id, reason, cooldowns: health.cooldowns },
      'an upstream is down; others are tried first',
    );
  }

  #recovered({ id }: RegisteredUpstream): void {
    this.#options.log.warn({ upstream: id }, 'an upstream has recovered');
  }
}
