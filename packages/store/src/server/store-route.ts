import type { Context } from 'hono';
import type { SqlStore } from '../sql-store.ts';

/** What routes work with. */
export interface StoreRouteOptions {
  readonly store: SqlStore;
  /** Ends a wait when the client goes away or the server closes. */
  readonly untilClosed: (context: Context) => AbortSignal;
}
