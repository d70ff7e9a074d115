import * as z from 'zod';
import type { JsonObject } from '../../base/json.ts';
import type { ModelUsage } from '../../store/model-usage.ts';
import type { MetricQuery, RunQuery } from '../../store/queries.ts';
import type { MetricPoint, Run, RunStatistics, RunStatus } from '../../store/run.ts';
import type { RunPatch } from '../../store/store.ts';
import type { StoreStatistics } from '../../store/store-statistics.ts';
import { optionsCodec, recordCodec, seconds } from './wire-fields.ts';
import { omitNullish, wireJsonObject } from './wire-json.ts';

/** The statuses of a run. */
export const wireRunStatusSchema: z.ZodType<RunStatus> = z.enum([
  'queued',
  'running',
  'stopping',
  'finished',
  'failed',
  'stopped',
]);

/** A training run, an extension of the Agent Lightning 0.3 protocol. Times are Unix seconds. */
export const runCodec: z.ZodType<Run> = recordCodec<Run>({
  runId: ['run_id', z.string()],
  name: ['name', z.string()],
  status: ['status', wireRunStatusSchema],
  config: ['config', wireJsonObject],
  state: ['state', wireJsonObject],
  createTimeMs: ['create_time', seconds],
  updateTimeMs: ['update_time', seconds],
});

/** Request to create a run. */
export interface RunRequest {
  readonly runId: string;
  readonly name: string;
  readonly config: JsonObject;
}

/** Codec of {@link RunRequest}. */
export const runRequestCodec: z.ZodType<RunRequest> = recordCodec<RunRequest>({
  runId: ['run_id', z.string().min(1)],
  name: ['name', z.string()],
  config: ['config', wireJsonObject],
});

/** Pagination of runs, as URL parameters. */
export type RunPageQuery = Omit<RunQuery, 'kind'>;

/** Codec of {@link RunPageQuery}. */
export const runPageCodec: z.ZodType<RunPageQuery> = optionsCodec<RunPageQuery>({
  limit: ['limit', z.int().optional()],
  offset: ['offset', z.int().optional()],
});

/** Codec of {@link RunQuery}. */
export const runQueryCodec: z.ZodType<RunQuery> = optionsCodec<RunQuery>({
  kind: ['kind', z.enum(['prompt-search', 'evaluation', 'deployment', 'dataset']).optional()],
  limit: ['limit', z.int().optional()],
  offset: ['offset', z.int().optional()],
});

/** A metric value. Null encodes a value that is not finite, because JSON has neither NaN nor infinity. */
const metricCodec = z.codec(z.number().nullable(), z.custom<number>(), {
  decode: (value) => value ?? Number.NaN,
  encode: (value) => (Number.isFinite(value) ? value : null),
});

/** The metrics of a step. */
export const metricPointCodec: z.ZodType<MetricPoint> = recordCodec<MetricPoint>({
  runId: ['run_id', z.string()],
  step: ['step', z.int().min(0)],
  timeMs: ['time', seconds],
  values: ['values', z.record(z.string(), metricCodec)],
});

/** Pagination of metrics, as URL parameters. */
export const metricQueryCodec: z.ZodType<MetricQuery> = optionsCodec<MetricQuery>({
  sortOrder: ['sort_order', z.enum(['asc', 'desc']).optional()],
  limit: ['limit', z.int().optional()],
  offset: ['offset', z.int().optional()],
});

/** Changes to a run, with the metrics to record. */
export type RunUpdate = readonly [patch: RunPatch, metrics?: readonly MetricPoint[]];

/** Codec of {@link RunUpdate}. */
export const runUpdateCodec: z.ZodType<RunUpdate> = z.codec(
  z.object({
    status: wireRunStatusSchema.optional(),
    state: wireJsonObject.optional(),
    metrics: z.array(metricPointCodec).optional(),
  }),
  z.custom<RunUpdate>(),
  {
    decode: ({ status, state, metrics = [] }): RunUpdate => [omitNullish({ status, state }), metrics],
    encode: ([patch, metrics = []]) => ({ ...patch, metrics: [...metrics] }),
  },
);

const modelUsageCodec = recordCodec<ModelUsage>({
  model: ['model', z.string()],
  isPolicy: ['is_policy', z.boolean()],
  calls: ['calls', z.int()],
  inputTokens: ['input_tokens', z.int()],
  cachedInputTokens: ['cached_input_tokens', z.int()],
  outputTokens: ['output_tokens', z.int()],
});

/** Counts of a run's rollouts and attempts. */
export const runStatisticsCodec: z.ZodType<RunStatistics> = recordCodec<RunStatistics>({
  runId: ['run_id', z.string()],
  totalRollouts: ['total_rollouts', z.int()],
  totalAttempts: ['total_attempts', z.int()],
  rolloutsByStatus: [
    'rollouts_by_status',
    z.object({
      queuing: z.int(),
      preparing: z.int(),
      running: z.int(),
      succeeded: z.int(),
      failed: z.int(),
      requeuing: z.int(),
      cancelled: z.int(),
    }),
  ],
  usage: ['usage', z.array(modelUsageCodec)],
});

/** Record counts of a store. The uptime is in seconds. */
export const statisticsCodec: z.ZodType<StoreStatistics> = recordCodec<StoreStatistics>({
  name: ['name', z.string()],
  totalRollouts: ['total_rollouts', z.int()],
  totalAttempts: ['total_attempts', z.int()],
  totalSpans: ['total_spans', z.int()],
  totalResources: ['total_resources', z.int()],
  totalWorkers: ['total_workers', z.int()],
  uptimeMs: ['uptime', seconds],
});
