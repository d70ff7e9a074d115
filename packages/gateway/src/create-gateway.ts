import { type Clock, systemClock } from '@agentlightning/core';
import { Hono } from 'hono';
import { AttemptDirectory } from './attempt-directory.ts';
import { CallsInFlight } from './calls-in-flight.ts';
import { CallRecorder } from './capture/call-recorder.ts';
import { SpanWriter } from './capture/span-writer.ts';
import type { GatewayLog, GatewayOptions, GatewayState, PauseOptions, Upstream } from './gateway-options.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { Access } from './http/access.ts';
import type { GatewayEnv } from './http/route-options.ts';
import { addRoutes } from './http/routes.ts';
import { CallObserver } from './observe/call-observer.ts';
import { PauseGate } from './pause-gate.ts';
import { defaultRetry } from './upstream/retry.ts';
import { UpstreamClient } from './upstream/upstream-client.ts';
import { UpstreamPool } from './upstream/upstream-pool.ts';

/** The capturing model proxy. */
export interface Gateway {
  /** What answers requests, to be served, or mounted: `hono.mount('/models', gateway.app.fetch)`. */
  readonly app: Pick<Hono, 'fetch' | 'request'>;
  /** Sends calls elsewhere from now on; those under way stay where they are. */
  setUpstream(upstream: Upstream | readonly Upstream[]): void;
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

const silentLog: GatewayLog = { warn: () => undefined, error: () => undefined };

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
  const clock: Clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  const client = new UpstreamClient(options.upstreamTimeoutMs ?? 600_000);
  const writer = new SpanWriter({ store: options.store, clock, log });
  const gate = new PauseGate(clock);
  const calls = new CallsInFlight(options.maxCallsInFlight ?? 4096);
  const closing = new AbortController();
  const parts: GatewayParts = {
    pool: new UpstreamPool(options.upstream),
    caller: {
      client,
      retry: { ...defaultRetry, ...options.retry },
      clock,
      random: options.random ?? Math.random,
      log,
      closing: closing.signal,
    },
    directory: new AttemptDirectory(options.store),
    recorder: new CallRecorder(writer, options.durability ?? 'before-response'),
    sampling: options.sampling ?? {},
  };
  const app = new Hono<GatewayEnv>();
  addRoutes(app, {
    parts,
    gate,
    calls,
    observer: new CallObserver({ clock, log }),
    access: new Access({
      apiKey: options.apiKey ?? null,
      adminKey: options.adminKey ?? null,
      attemptTokens: options.attemptTokens ?? null,
    }),
    log,
    forwardedNames: (options.forwardHeaders ?? []).map((name) => name.toLowerCase()),
    maxBodyBytes: options.maxBodyBytes ?? 32 * 1024 * 1024,
  });
  const drain = (timeoutMs?: number): Promise<void> => gate.drain(() => writer.flush(), timeoutMs);
  return {
    app,
    setUpstream: (upstream) => parts.pool.set(upstream),
    pause: (pause = {}) => gate.pause(pause),
    resume: () => gate.resume(),
    drain,
    state: () => gate.state(),
    close: async () => {
      gate.pause({ reason: 'it is closing' });
      closing.abort();
      await client.close();
      await drain();
    },
  };
}
