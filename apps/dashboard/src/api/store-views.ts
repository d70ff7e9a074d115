import type { StoreStatistics, Worker } from '@agentlightning/core/store';

/** The workers of a store. */
export interface WorkerList {
  readonly items: readonly Worker[];
  /** Time of the server in Unix milliseconds, for ages. */
  readonly nowMs: number;
}

/** The store behind the dashboard. */
export interface StoreView {
  /** Label of the store, without passwords. */
  readonly label: string;
  /** Whether the dashboard records annotations; a key may still be necessary. */
  readonly canAnnotate: boolean;
  readonly statistics: StoreStatistics;
}

/** Changes of the store since the previous event. */
export interface ChangeEvent {
  readonly runIds: readonly string[];
  readonly rolloutIds: readonly string[];
  /** Whether changes may have been missed: everything must be read again. */
  readonly isUnknown: boolean;
}

/** The last event of a dashboard that ends. */
export interface ClosingEvent {
  /** Why it ends, and how to continue. */
  readonly notice: string;
}

/** Body of an error response. */
export interface ErrorView {
  readonly error: { readonly code: string; readonly message: string; readonly remedy: string };
}
