/** Record counts of a store. */
export interface StoreStatistics {
  /** The backend: `sqlite`, `http`. */
  readonly name: string;
  /** Number of rollouts. */
  readonly totalRollouts: number;
  /** Number of attempts. */
  readonly totalAttempts: number;
  /** Number of spans. */
  readonly totalSpans: number;
  /** Number of resource snapshots. */
  readonly totalResources: number;
  /** Number of workers. */
  readonly totalWorkers: number;
  /** Milliseconds since the store was opened. */
  readonly uptimeMs: number;
}
