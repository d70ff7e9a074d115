import type { Hono } from 'hono';
import { createGatewayApp } from './gateway-app.ts';
import { createGatewayComponents, type GatewayComponents } from './gateway-components.ts';
import { GatewayError, gatewayClosing } from './wire/gateway-error.ts';
import type { GatewayOptions, GatewayState, PauseOptions, Upstream, UpstreamState } from './wire/gateway-options.ts';

/** The capturing model proxy. */
export interface Gateway {
  /** Request handler, to be served or mounted: `hono.mount('/models', gateway.app.fetch)`. */
  readonly app: Pick<Hono, 'fetch' | 'request'>;
  /** Restores registrations from before a restart; `serveGateway` calls it. */
  restore(): Promise<void>;
  /** Replaces the upstreams. Calls in flight stay where they are. */
  setUpstream(upstream: Upstream | readonly Upstream[]): void;
  /**
   * Adds an upstream, or replaces the one with the same id. About one rollout in n moves to a new upstream, and none
   * between the others.
   *
   * @returns its id
   * @throws AgentLightningError CONFIG for an invalid base URL
   */
  addUpstream(upstream: Upstream): string;
  /** Removes an upstream. Calls in flight stay there. @returns whether it was registered */
  removeUpstream(id: string): boolean;
  /** The state of each upstream. */
  upstreams(): readonly UpstreamState[];
  /** Rejects new model calls with 429 and `Retry-After` until `resume`. Calls in flight continue. */
  pause(options?: PauseOptions): void;
  /** Admits model calls again. */
  resume(): void;
  /** Resolves when every admitted call is complete and recorded. @throws AgentLightningError TIMEOUT */
  drain(timeoutMs?: number): Promise<void>;
  /** Upstreams, calls in flight and pauses. */
  state(): GatewayState;
  /** The metrics in Prometheus text format. */
  metrics(): Promise<string>;
  /** Aborts calls in flight after `drainMs`, and waits for their records. */
  close(options?: CloseOptions): Promise<void>;
}

/** Options of `close`. */
export interface CloseOptions {
  /**
   * Grace period for calls in flight, in milliseconds. New calls are rejected with 429 and `Retry-After` meanwhile, so
   * that clients retry at the replacement gateway. @default 0
   */
  readonly drainMs?: number;
}

/**
 * Creates an OpenAI-compatible proxy that records every model call of an attempt with the engine's token ids and
 * log-probabilities.
 *
 * @throws AgentLightningError with code CONFIG for an invalid upstream URL
 *
 * @example
 * ```ts
 * const gateway = createGateway({ store, upstream: { baseUrl: 'http://localhost:8000/v1', model: 'tiny' } });
 * const response = await gateway.app.request('/v1/models');
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  const core = createGatewayComponents(options);
  const { services, gate, writer, production } = core;
  const { app, aglServer } = createGatewayApp(options, core);
  const maxCallMs = options.maxCallMs ?? 3_600_000;
  const tooOld = setInterval(() => endOldCalls(core, maxCallMs), Math.min(1000, maxCallMs / 4)).unref();
  const drain = (timeoutMs?: number): Promise<void> =>
    gate.drain(async () => void (await Promise.all([writer.flush(), production.flush()])), timeoutMs);
  return {
    app,
    restore: async () => await aglServer?.restore(),
    setUpstream: (upstream) => services.pool.set(upstream),
    addUpstream: (upstream) => services.pool.add(upstream).id,
    removeUpstream: (id) => services.pool.remove(id),
    upstreams: () => services.pool.states(),
    pause: (pause = {}) => gate.pause(pause),
    resume: () => gate.resume(),
    drain,
    state: () => gate.state(),
    metrics: async () => (await core.metrics.text()).body,
    close: async ({ drainMs = 0 } = {}) => {
      gate.close();
      // Calls still in flight after the grace period are aborted.
      if (drainMs > 0) await drain(drainMs).catch(() => undefined);
      clearInterval(tooOld);
      core.closing.abort();
      core.calls.endAll(gatewayClosing());
      await services.upstreamServices.client.close();
      // A hanging store must not keep the process alive.
      await drain(recordGraceMs).catch((error: unknown) =>
        core.log.error({ err: error }, 'calls in flight could not be recorded'),
      );
      production.close();
      await core.unattributedCalls.close();
    },
  };
}

/** Limit for recording calls when a gateway closes, in milliseconds. */
const recordGraceMs = 30_000;

/** Aborts calls that exceed `maxCallMs`, regardless of upstream and reader. */
function endOldCalls({ calls, clock }: GatewayComponents, maxCallMs: number): void {
  calls.endOlderThan(clock.now() - maxCallMs, () => tookTooLong(maxCallMs));
}

function tookTooLong(maxCallMs: number): GatewayError {
  return new GatewayError({
    code: 'TIMEOUT',
    httpStatus: 504,
    type: 'timeout_error',
    message: `the call took longer than ${maxCallMs} ms`,
    remedy: 'Raise the gateway option `maxCallMs`, or request fewer tokens.',
  });
}
