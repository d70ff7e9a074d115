import type { RolloutStatus } from './rollout-status.ts';

/** Progress of the rollouts of a run. */
export interface RunStatistics {
  readonly runId: string;
  readonly totalRollouts: number;
  readonly totalAttempts: number;
  /** Number of rollouts by status; 0 for an unused status. */
  readonly rolloutsByStatus: Readonly<Record<RolloutStatus, number>>;
}
