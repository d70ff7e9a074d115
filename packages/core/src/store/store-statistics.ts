/** The training rollouts of one task in one training step. */
export interface GroupStatistics {
  /** The training step. */
  readonly step: number;
  /** Position of the task in the step. */
  readonly taskIndex: number;
  /** Number of rollouts. */
  readonly rollouts: number;
  /** Number of rollouts with the status `failed`. */
  readonly failed: number;
  /** Mean primary reward of the rollouts whose latest attempt has one; null without a reward. */
  readonly meanReward: number | null;
  /** The lowest reward; null without a reward. */
  readonly minReward: number | null;
  /** The highest reward; null without a reward. */
  readonly maxReward: number | null;
  /** When the first of the rollouts was enqueued, in Unix milliseconds. */
  readonly firstStartTimeMs: number;
  /** When the last of the rollouts was enqueued, in Unix milliseconds. */
  readonly lastStartTimeMs: number;
  /** The first of the rollouts, an example of the task's input. */
  readonly rolloutId: string;
}

/** Filters of {@link Store.groupStatistics}. */
export interface GroupQuery {
  /** Only rollouts that were enqueued at or after this time, in Unix milliseconds. @default any */
  readonly startTimeFromMs?: number;
}

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
