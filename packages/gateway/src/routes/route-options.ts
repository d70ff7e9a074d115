import type { Context } from 'hono';
import type { Access, Caller } from '../access/access.ts';
import type { AglServer } from '../agl-server/create-agl-server.ts';
import type { AttemptWatch } from '../attempts/attempt-watch.ts';
import type { CallsInFlight } from '../attempts/calls-in-flight.ts';
import type { PauseGate } from '../attempts/pause-gate.ts';
import type { GatewayMetrics } from '../capture/gateway-metrics.ts';
import type { ModelCallServices } from '../model-api/model-call-services.ts';
import type { GatewayLog } from '../wire/gateway-options.ts';
import type { CallObserver } from './call-observer.ts';

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
