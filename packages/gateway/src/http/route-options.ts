import type { Context } from 'hono';
import type { AglServer } from '../agl-server/create-agl-server.ts';
import type { AttemptWatch } from '../attempt-watch.ts';
import type { CallsInFlight } from '../calls-in-flight.ts';
import type { GatewayLog } from '../gateway-options.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import type { CallObserver } from '../observe/call-observer.ts';
import type { GatewayMetrics } from '../observe/gateway-metrics.ts';
import type { PauseGate } from '../pause-gate.ts';
import type { Access, Caller } from './access.ts';

/** What the routes work with. */
export interface RouteOptions {
  readonly parts: GatewayParts;
  readonly gate: PauseGate;
  readonly calls: CallsInFlight;
  readonly observer: CallObserver;
  readonly watch: AttemptWatch;
  readonly metrics: GatewayMetrics;
  readonly access: Access;
  /** Knows attempts by the names that controllers of 1.0 have for them; null where it is not served. */
  readonly aglServer: Pick<AglServer, 'attemptIdOf'> | null;
  readonly log: GatewayLog;
  /** Headers, by lower-case name, that go on to upstreams beyond those of the model APIs. */
  readonly forwardedNames: readonly string[];
  readonly maxBodyBytes: number;
}

/** What is known of every request before its route. */
export interface GatewayEnv {
  readonly Variables: { readonly requestId: string; readonly caller: Caller };
}

/** A request to the gateway. */
export type GatewayContext = Context<GatewayEnv>;
