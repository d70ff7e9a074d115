import type { Hono } from 'hono';
import { createGatewayApp } from './gateway-app.ts';
import { assembleGateway, type GatewayCore } from './gateway-core.ts';
import { GatewayError } from './gateway-error.ts';
import type { GatewayOptions, GatewayState, PauseOptions, Upstream, UpstreamState } from './gateway-options.ts';

/** The capturing model proxy. */
export interface Gateway {
  /** What answers requests, to be served, or mounted: `hono.mount('/models', gateway.app.fetch)`. */
  readonly app: Pick<Hono, 'fetch' | 'request'>;
  /** Takes up what was registered before a restart; `serveGateway` does it by itself. */
  restore(): Promise<void>;
  /** Sends calls elsewhere from now on; those under way stay where they are. */
  setUpstream(upstream: Upstream | readonly Upstream[]): void;
  /**
   * Sends calls there too from now on, or in the place of the upstream with the same id. About one rollout in n moves
   * there, and none between the others.
   *
   * @returns its id
   * @throws AgentLightningError CONFIG when its address is not one
   */
  addUpstream(upstream: Upstream): string;
  /** Sends no more calls there; those under way stay. @returns whether there was one with this id */
  removeUpstream(id: string): boolean;
  /** How the upstreams do. */
  upstreams(): readonly UpstreamState[];
  /** Turns model calls away, with 429 and `Retry-After`, until `resume`. Those under way go on. */
  pause(options?: PauseOptions): void;
  /** Lets model calls in again. */
  resume(): void;
  /** Resolves when every call that was let in is answered and recorded. @throws AgentLightningError TIMEOUT */
  drain(timeoutMs?: number): Promise<void>;
  state(): GatewayState;
  /** What it has counted, in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** Ends the calls that are under way, after `drainMs` at the latest, and waits for their records. */
  close(options?: CloseOptions): Promise<void>;
}

/** How a gateway closes. */
export interface CloseOptions {
  /**
   * How long calls that are under way may still take, in milliseconds. New ones are answered 429 with `Retry-After`
   * meanwhile, so that clients come back to the gateway that takes this one's place. @default 0
   */
  readonly drainMs?: number;
}

/**
 * Makes a gateway: an OpenAI-compatible proxy that records every model call of an attempt with the token ids and
 * log-probabilities that the engine saw.
 *
 * @throws AgentLightningError with code CONFIG when an upstream's address is not one
 *
 * @example
 * ```ts
 * const gateway = createGateway({ store, upstream: { baseUrl: 'http://localhost:8000/v1', model: 'tiny' } });
 * const answer = await gateway.app.request('/v1/models');
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  const core = assembleGateway(options);
  const { parts, gate, writer } = core;
  const { app, aglServer } = createGatewayApp(options, core);
  const maxCallMs = options.maxCallMs ?? 3_600_000;
  const tooOld = setInterval(() => endOldCalls(core, maxCallMs), Math.min(1000, maxCallMs / 4)).unref();
  const drain = (timeoutMs?: number): Promise<void> => gate.drain(() => writer.flush(), timeoutMs);
  return {
    app,
    restore: async () => await aglServer?.restore(),
    setUpstream: (upstream) => parts.pool.set(upstream),
    addUpstream: (upstream) => parts.pool.add(upstream).id,
    removeUpstream: (id) => parts.pool.remove(id),
    upstreams: () => parts.pool.states(),
    pause: (pause = {}) => gate.pause(pause),
    resume: () => gate.resume(),
    drain,
    state: () => gate.state(),
    metrics: async () => (await core.metrics.text()).body,
    close: async ({ drainMs = 0 } = {}) => {
      gate.close();
      // Calls that take longer are ended.
      if (drainMs > 0) await drain(drainMs).catch(() => undefined);
      clearInterval(tooOld);
      core.closing.abort();
      core.calls.endAll(cutByClosing());
      await parts.caller.client.close();
      // A store that hangs must not keep the process for ever.
      await drain(recordGraceMs).catch((error: unknown) => core.log.error({ err: error }, 'calls are not recorded'));
      await core.plainCalls.close();
    },
  };
}

/** How long the records of calls may take when a gateway closes, in milliseconds. */
const recordGraceMs = 30_000;

/** Nothing may take for ever, whatever its upstream and its reader do. */
function endOldCalls({ calls, clock }: GatewayCore, maxCallMs: number): void {
  calls.endOlderThan(clock.now() - maxCallMs, () => tookTooLong(maxCallMs));
}

function tookTooLong(maxCallMs: number): GatewayError {
  return new GatewayError({
    code: 'TIMEOUT',
    httpStatus: 504,
    type: 'timeout_error',
    message: `the call took longer than ${maxCallMs} ms`,
    remedy: 'Raise the gateway option `maxCallMs`, or ask for fewer tokens.',
  });
}

function cutByClosing(): GatewayError {
  return new GatewayError({
    code: 'CANCELLED',
    httpStatus: 503,
    type: 'cancelled',
    message: 'the gateway is closing',
    remedy: 'Make the call again when the gateway is back.',
    headers: { 'retry-after': '1' },
  });
}
