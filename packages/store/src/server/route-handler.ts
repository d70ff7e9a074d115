import {
  type AttemptTokens,
  type OperationName,
  operationRoutes,
  pathParameters,
  type SpecialRoutes,
  type StoreRoute,
  specialRoutes,
} from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { SqlStore } from '../sql-store.ts';
import type { LongPollLimit } from './limits/long-poll-limit.ts';
import type { StoreMetrics } from './observation/store-metrics.ts';

/** Dependencies of routes. */
export interface StoreRouteOptions {
  readonly project: string;
  readonly store: SqlStore;
  /** Signs attempt tokens; null without a token secret. */
  readonly attemptTokens: AttemptTokens | null;
  readonly metrics: StoreMetrics;
  /** Open long polls and event streams. */
  readonly waits: LongPollLimit;
  /** Whether only admins change the state of a run, because a server trains it. */
  readonly isServerRun: (runId: string) => Promise<boolean>;
  /** Maximum size of a decompressed request body in bytes. */
  readonly maxBodyBytes: number;
  /** Receives internal errors, which are not exposed to clients. */
  readonly onFault: (error: unknown) => void;
  /** Heartbeat interval of idle event streams in milliseconds. */
  readonly heartbeatMs: number;
  /** Aborts a wait when the client disconnects or the server closes. */
  readonly untilClosed: (context: Context) => AbortSignal;
}

/** Responds to the requests of a route. */
export type RouteHandler = (context: Context) => Response | Promise<Response>;

/** One handler for each route that does not map directly to an operation. */
export type SpecialHandlers = { readonly [TName in keyof SpecialRoutes]: RouteHandler };

/** The name of a route. */
export type RouteName = OperationName | keyof SpecialRoutes;

/** All routes with their names. Fixed paths precede those with parameters, because the first match handles a request. */
export const storeRoutes: readonly (readonly [name: RouteName, route: StoreRoute])[] = (
  Object.entries({ ...operationRoutes, ...specialRoutes }) as [RouteName, StoreRoute][]
).sort(([, left], [, right]) => (sortKey(left) < sortKey(right) ? -1 : 1));

function sortKey({ path }: StoreRoute): string {
  return path.replaceAll(':', '~');
}

/** The ids in the path of a request, in order. */
export function idsOf(context: Context, route: StoreRoute): readonly string[] {
  return pathParameters(route).map((name) => context.req.param(name) ?? '');
}

/** Responds with JSON. */
export function jsonResponse(context: Context, value: unknown, status: 200 | 201 = 200): Response {
  return context.body(JSON.stringify(value), status, { 'content-type': 'application/json' });
}

/** Responds with the output of a route. */
export function outputResponse<TOutput>(
  context: Context,
  { response, status }: StoreRoute<unknown, TOutput>,
  output: TOutput,
): Response {
  return jsonResponse(context, response?.encode(output), status === 201 ? 201 : 200);
}
