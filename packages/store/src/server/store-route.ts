import type { AttemptTokens } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { SqlStore } from '../sql-store.ts';
import type { OpenWaits } from './limits/open-waits.ts';
import type { StoreMetrics } from './observation/store-metrics.ts';

/** Dependencies of routes. */
export interface StoreRouteOptions {
  readonly store: SqlStore;
  /** Signs attempt tokens; null without a token secret. */
  readonly attemptTokens: AttemptTokens | null;
  readonly metrics: StoreMetrics;
  /** Open long polls and event streams. */
  readonly waits: OpenWaits;
  /** Maximum size of a decompressed request body in bytes. */
  readonly maxBodyBytes: number;
  /** Receives internal errors, which are not exposed to clients. */
  readonly onFault: (error: unknown) => void;
  /** Heartbeat interval of idle event streams in milliseconds. */
  readonly heartbeatMs: number;
  /** Aborts a wait when the client disconnects or the server closes. */
  readonly untilClosed: (context: Context) => AbortSignal;
}
