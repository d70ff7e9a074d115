import type { Context } from 'hono';
import type { AglServer } from '../agl-server/create-agl-server.ts';
import type { AttemptWatch } from '../attempt-watch.ts';
import type { CallsInFlight } from '../calls-in-flight.ts';
import type { GatewayLog } from '../gateway-options.ts';
import type { ModelCallServices } from '../model-call-services.ts';
import type { CallObserver } from '../observe/call-observer.ts';
import type { GatewayMetrics } from '../observe/gateway-metrics.ts';
import type { PauseGate } from '../pause-gate.ts';
import type { Access, Caller } from './access.ts';

/** Dependencies of the routes. */
export interface RouteOptions {
  readonly services: ModelCallServices;
  readonly gate: PauseGate;
  readonly calls: CallsInFlight;
  readonly observer: CallObserver;
  readonly watch: AttemptWatch;
  readonly metrics: GatewayMetrics;
  readonly access: Access;
  /** Resolves the attempt names of 1.0 controllers; null where the 1.0 API is disabled. */
  readonly aglServer: Pick<AglServer, 'attemptIdOf'> | null;
  readonly log: GatewayLog;
  /** Further request headers to forward to upstreams, in lower case. */
  readonly forwardedNames: readonly string[];
  readonly maxBodyBytes: number;
}

/** Context of every request. */
export interface GatewayEnv {
  readonly Variables: { readonly requestId: string; readonly caller: Caller };
}

/** A request to the gateway. */
export type GatewayContext = Context<GatewayEnv>;
