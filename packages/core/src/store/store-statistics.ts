/** Record counts of a store. */
export interface StoreStatistics {
  /** The backend: `sqlite`, `http`. */
  readonly name: string;
  readonly totalRollouts: number;
  readonly totalAttempts: number;
  readonly totalSpans: number;
  readonly totalResources: number;
  readonly totalWorkers: number;
  /** Milliseconds since the store was opened. */
  readonly uptimeMs: number;
}
