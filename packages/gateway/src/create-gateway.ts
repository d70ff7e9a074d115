import type { Hono } from 'hono';
import { createGatewayApp } from './gateway-app.ts';
import { assembleGateway } from './gateway-core.ts';
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
  /** Cuts the calls that are under way, and waits for their records. */
  close(): Promise<void>;
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
  const { parts, gate, writer, closing } = core;
  const { app, aglServer } = createGatewayApp(options, core);
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
    close: async () => {
      gate.pause({ reason: 'it is closing' });
      closing.abort();
      await parts.caller.client.close();
      await drain();
    },
  };
}
