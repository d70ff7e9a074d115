import { z } from 'zod';
import type { StoreStatistics } from '../store.ts';
import { msFromSeconds, secondsFromMs } from './wire-time.ts';

/** How many of everything a store holds, as the store protocol has it. */
export interface WireStatistics {
  readonly name: string;
  readonly total_rollouts: number;
  readonly total_attempts: number;
  readonly total_spans: number;
  readonly total_resources: number;
  readonly total_workers: number;
  /** In seconds. */
  readonly uptime: number;
}

/** The shape of {@link WireStatistics}. */
export const wireStatisticsSchema: z.ZodType<WireStatistics> = z.object({
  name: z.string(),
  total_rollouts: z.int(),
  total_attempts: z.int(),
  total_spans: z.int(),
  total_resources: z.int(),
  total_workers: z.int(),
  uptime: z.number(),
});

/** Statistics from the wire. */
export function statisticsFromWire(wire: WireStatistics): StoreStatistics {
  return {
    name: wire.name,
    totalRollouts: wire.total_rollouts,
    totalAttempts: wire.total_attempts,
    totalSpans: wire.total_spans,
    totalResources: wire.total_resources,
    totalWorkers: wire.total_workers,
    uptimeMs: msFromSeconds(wire.uptime),
  };
}

/** Statistics for the wire. */
export function statisticsToWire(statistics: StoreStatistics): WireStatistics {
  return {
    name: statistics.name,
    total_rollouts: statistics.totalRollouts,
    total_attempts: statistics.totalAttempts,
    total_spans: statistics.totalSpans,
    total_resources: statistics.totalResources,
    total_workers: statistics.totalWorkers,
    uptime: secondsFromMs(statistics.uptimeMs),
  };
}
