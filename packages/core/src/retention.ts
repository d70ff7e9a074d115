/**
 * What a store need not keep. Nothing unfinished is ever deleted, nor anything of a run that is under way.
 * With both fields, both must hold: a run goes when it is old and not among the newest ones.
 */
export interface RetentionPolicy {
  /**
   * Runs that last changed longer ago than this may go, with what they hold, and so may finished rollouts of
   * no run that ended longer ago; in milliseconds. @default any age, for runs; rollouts of no run then stay
   */
  readonly olderThanMs?: number;
  /** The newest runs are kept, this many of them. @default 0 */
  readonly keepRuns?: number;
}

/** What a policy would delete now. */
export interface RetentionPreview extends DeletionCounts {
  /** The runs that would be deleted, oldest first. */
  readonly runIds: readonly string[];
}

/** How much was deleted. */
export interface DeletionCounts {
  readonly runs: number;
  readonly rollouts: number;
  readonly attempts: number;
  readonly spans: number;
}
