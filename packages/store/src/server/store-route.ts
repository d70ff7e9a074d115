import type { AttemptTokens } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { SqlStore } from '../sql-store.ts';

/** What routes work with. */
export interface StoreRouteOptions {
  readonly store: SqlStore;
  /** Makes the tokens of attempts; null where there is no secret for them. */
  readonly attemptTokens: AttemptTokens | null;
  /** The largest body of a request, in bytes, decompressed. */
  readonly maxBodyBytes: number;
  /** Told about faults of the server itself, which clients are not shown. */
  readonly onFault: (error: unknown) => void;
  /** How often a stream of events says something while nothing happens, in milliseconds. */
  readonly heartbeatMs: number;
  /** Ends a wait when the client goes away or the server closes. */
  readonly untilClosed: (context: Context) => AbortSignal;
}
