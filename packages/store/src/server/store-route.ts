import type { AttemptTokens } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { SqlStore } from '../sql-store.ts';
import type { OpenWaits } from './limits/open-waits.ts';
import type { StoreMetrics } from './observation/store-metrics.ts';

/** What routes work with. */
export interface StoreRouteOptions {
  readonly store: SqlStore;
  /** Makes the tokens of attempts; null where there is no secret for them. */
  readonly attemptTokens: AttemptTokens | null;
  readonly metrics: StoreMetrics;
  /** The requests that wait for something to happen. */
  readonly waits: OpenWaits;
  /** The largest body of a request, in bytes, decompressed. */
  readonly maxBodyBytes: number;
  /** Told about faults of the server itself, which clients are not shown. */
  readonly onFault: (error: unknown) => void;
  /** How often a stream of events says something while nothing happens, in milliseconds. */
  readonly heartbeatMs: number;
  /** Ends a wait when the client goes away or the server closes. */
  readonly untilClosed: (context: Context) => AbortSignal;
}
