import { z } from 'zod';
import type { StoreStatistics } from '../../store/store.ts';
import { msFromSeconds, secondsFromMs } from '../wire-time.ts';

/** Record counts of a store in the store protocol. The uptime is in seconds. */
export const statisticsCodec: z.ZodType<StoreStatistics> = z.codec(
  z.object({
    name: z.string(),
    total_rollouts: z.int(),
    total_attempts: z.int(),
    total_spans: z.int(),
    total_resources: z.int(),
    total_workers: z.int(),
    uptime: z.number(),
  }),
  z.custom<StoreStatistics>(),
  {
    decode: (wire) => ({
      name: wire.name,
      totalRollouts: wire.total_rollouts,
      totalAttempts: wire.total_attempts,
      totalSpans: wire.total_spans,
      totalResources: wire.total_resources,
      totalWorkers: wire.total_workers,
      uptimeMs: msFromSeconds(wire.uptime),
    }),
    encode: (statistics) => ({
      name: statistics.name,
      total_rollouts: statistics.totalRollouts,
      total_attempts: statistics.totalAttempts,
      total_spans: statistics.totalSpans,
      total_resources: statistics.totalResources,
      total_workers: statistics.totalWorkers,
      uptime: secondsFromMs(statistics.uptimeMs),
    }),
  },
);
