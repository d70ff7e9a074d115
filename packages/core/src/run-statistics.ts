import type { RolloutStatus } from './rollout-status.ts';

/** How far the rollouts of a run are. */
export interface RunStatistics {
  readonly runId: string;
  readonly totalRollouts: number;
  readonly totalAttempts: number;
  /** How many rollouts have each status; 0 for one that none has. */
  readonly rolloutsByStatus: Readonly<Record<RolloutStatus, number>>;
}
