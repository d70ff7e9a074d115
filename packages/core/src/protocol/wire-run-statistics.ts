import { z } from 'zod';
import type { RunStatistics } from '../run-statistics.ts';

/** How far the rollouts of a run are, on the wire. */
export interface WireRunStatistics {
  readonly run_id: string;
  readonly total_rollouts: number;
  readonly total_attempts: number;
  readonly rollouts_by_status: RunStatistics['rolloutsByStatus'];
}

/** The shape of {@link WireRunStatistics}. */
export const wireRunStatisticsSchema: z.ZodType<WireRunStatistics> = z.object({
  run_id: z.string(),
  total_rollouts: z.int(),
  total_attempts: z.int(),
  rollouts_by_status: z.object({
    queuing: z.int(),
    preparing: z.int(),
    running: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    requeuing: z.int(),
    cancelled: z.int(),
  }),
});

/** How far the rollouts of a run are, from the wire. */
export function runStatisticsFromWire(wire: WireRunStatistics): RunStatistics {
  return {
    runId: wire.run_id,
    totalRollouts: wire.total_rollouts,
    totalAttempts: wire.total_attempts,
    rolloutsByStatus: wire.rollouts_by_status,
  };
}

/** How far the rollouts of a run are, for the wire. */
export function runStatisticsToWire(statistics: RunStatistics): WireRunStatistics {
  return {
    run_id: statistics.runId,
    total_rollouts: statistics.totalRollouts,
    total_attempts: statistics.totalAttempts,
    rollouts_by_status: statistics.rolloutsByStatus,
  };
}
