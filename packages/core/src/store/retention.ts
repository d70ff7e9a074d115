/**
 * Rules for deleting data. Unfinished rollouts, active runs and versions of data sets are never deleted.
 * With an age and a number of runs, both must hold: a run is deleted when it is old and not among the newest.
 */
export interface RetentionPolicy {
  /**
   * Minimum age in milliseconds. Runs last changed before it are deleted with their content, as are finished rollouts
   * without a run, and traces of a deployment, that ended before it. @default any age for runs; rollouts without a run are kept
   */
  readonly olderThanMs?: number;
  /** Number of newest runs to keep. @default 0 */
  readonly keepRuns?: number;
  /**
   * Minimum age of the traces of a deployment in milliseconds, by name, instead of `olderThanMs`. Alone, it deletes nothing else.
   *
   * @default {}
   */
  readonly traces?: Readonly<Record<string, number>>;
}

/** Records that a policy would delete now. */
export interface RetentionPreview extends DeletionCounts {
  /** The runs that would be deleted, oldest first. */
  readonly runIds: readonly string[];
}

/** Numbers of deleted records. */
export interface DeletionCounts {
  /** Number of deleted runs. */
  readonly runs: number;
  /** Number of deleted rollouts. */
  readonly rollouts: number;
  /** Number of deleted attempts. */
  readonly attempts: number;
  /** Number of deleted spans. */
  readonly spans: number;
}
