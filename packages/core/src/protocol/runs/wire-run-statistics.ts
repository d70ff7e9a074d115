import { z } from 'zod';
import type { RunStatistics } from '../../store/run-statistics.ts';

/** Counts of a run's rollouts and attempts. */
export const runStatisticsCodec: z.ZodType<RunStatistics> = z.codec(
  z.object({
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
  }),
  z.custom<RunStatistics>(),
  {
    decode: (wire) => ({
      runId: wire.run_id,
      totalRollouts: wire.total_rollouts,
      totalAttempts: wire.total_attempts,
      rolloutsByStatus: wire.rollouts_by_status,
    }),
    encode: (statistics) => ({
      run_id: statistics.runId,
      total_rollouts: statistics.totalRollouts,
      total_attempts: statistics.totalAttempts,
      rollouts_by_status: statistics.rolloutsByStatus,
    }),
  },
);
