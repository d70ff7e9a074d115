import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import type { RolloutMode } from '../store/rollout.ts';
import type { RolloutStatus } from '../store/rollout-status.ts';
import type { AttemptQuery, ResourcesQuery, RolloutQuery, SpanQuery, WorkerQuery } from '../store/store.ts';
import type { WorkerStatus } from '../store/worker.ts';
import { present } from './present.ts';
import { wireRolloutModeSchema, wireRolloutStatusSchema } from './rollouts/wire-rollout.ts';
import { wireJsonObject } from './wire-json.ts';
import { pageOptionsFromWire, pageOptionsToWire, type WirePageOptions, wirePageOptionsShape } from './wire-page.ts';
import { msFromSecondsOrNull, secondsFromMsOrNull } from './wire-time.ts';
import { wireWorkerStatusSchema } from './wire-worker.ts';

type FilterLogic = 'and' | 'or';

const filterLogicSchema: z.ZodType<FilterLogic | null | undefined> = z.enum(['and', 'or']).nullish();

const rolloutSortFields = {
  start_time: 'startTimeMs',
  end_time: 'endTimeMs',
  status: 'status',
  rollout_id: 'rolloutId',
  mode: 'mode',
  resources_id: 'resourcesId',
} as const;
const attemptSortFields = {
  sequence_id: 'sequenceId',
  start_time: 'startTimeMs',
  end_time: 'endTimeMs',
  status: 'status',
  attempt_id: 'attemptId',
  worker_id: 'workerId',
  last_heartbeat_time: 'lastHeartbeatTimeMs',
} as const;
const spanSortFields = {
  sequence_id: 'sequenceId',
  start_time: 'startTimeMs',
  end_time: 'endTimeMs',
  name: 'name',
  attempt_id: 'attemptId',
  trace_id: 'traceId',
  span_id: 'spanId',
  parent_id: 'parentId',
} as const;
const workerSortFields = {
  worker_id: 'workerId',
  status: 'status',
  last_heartbeat_time: 'lastHeartbeatTimeMs',
  last_dequeue_time: 'lastDequeueTimeMs',
  last_busy_time: 'lastBusyTimeMs',
  last_idle_time: 'lastIdleTimeMs',
  current_rollout_id: 'currentRolloutId',
  current_attempt_id: 'currentAttemptId',
} as const;
const resourcesSortFields = {
  resources_id: 'resourcesId',
  version: 'version',
  create_time: 'createTimeMs',
  update_time: 'updateTimeMs',
} as const;

/** Rollout filters in the store protocol. */
export interface WireRolloutQuery extends WirePageOptions {
  readonly status_in?: readonly RolloutStatus[] | null | undefined;
  readonly rollout_id_in?: readonly string[] | null | undefined;
  readonly rollout_id_contains?: string | null | undefined;
  readonly filter_logic?: FilterLogic | null | undefined;
  /** Extension. */
  readonly mode_in?: readonly RolloutMode[] | null | undefined;
  /** Extension. */
  readonly run_id?: string | null | undefined;
  /** Extension. */
  readonly metadata?: JsonObject | null | undefined;
  /** Extension, like the following three: Unix seconds; from is inclusive, before is exclusive. */
  readonly start_time_from?: number | null | undefined;
  readonly start_time_before?: number | null | undefined;
  readonly end_time_from?: number | null | undefined;
  readonly end_time_before?: number | null | undefined;
}

/** Schema of {@link WireRolloutQuery}. */
export const wireRolloutQuerySchema: z.ZodType<WireRolloutQuery> = z.object({
  ...wirePageOptionsShape,
  status_in: z.array(wireRolloutStatusSchema).nullish(),
  rollout_id_in: z.array(z.string()).nullish(),
  rollout_id_contains: z.string().nullish(),
  filter_logic: filterLogicSchema,
  mode_in: z.array(wireRolloutModeSchema).nullish(),
  run_id: z.string().nullish(),
  metadata: wireJsonObject.nullish(),
  start_time_from: z.number().nullish(),
  start_time_before: z.number().nullish(),
  end_time_from: z.number().nullish(),
  end_time_before: z.number().nullish(),
});

/** Decodes rollout filters. */
export function rolloutQueryFromWire(wire: WireRolloutQuery): RolloutQuery {
  return {
    ...pageOptionsFromWire(wire, rolloutSortFields),
    ...present({
      statusIn: wire.status_in,
      rolloutIdIn: wire.rollout_id_in,
      rolloutIdContains: wire.rollout_id_contains,
      filterLogic: wire.filter_logic,
      modeIn: wire.mode_in,
      runId: wire.run_id,
      metadata: wire.metadata,
      startTimeFromMs: msFromSecondsOrNull(wire.start_time_from),
      startTimeBeforeMs: msFromSecondsOrNull(wire.start_time_before),
      endTimeFromMs: msFromSecondsOrNull(wire.end_time_from),
      endTimeBeforeMs: msFromSecondsOrNull(wire.end_time_before),
    }),
  };
}

/** Encodes rollout filters. */
export function rolloutQueryToWire(query: RolloutQuery): WireRolloutQuery {
  return {
    ...pageOptionsToWire(query, rolloutSortFields),
    status_in: query.statusIn,
    rollout_id_in: query.rolloutIdIn,
    rollout_id_contains: query.rolloutIdContains,
    filter_logic: query.filterLogic,
    mode_in: query.modeIn,
    run_id: query.runId,
    metadata: query.metadata,
    start_time_from: secondsFromMsOrNull(query.startTimeFromMs ?? null),
    start_time_before: secondsFromMsOrNull(query.startTimeBeforeMs ?? null),
    end_time_from: secondsFromMsOrNull(query.endTimeFromMs ?? null),
    end_time_before: secondsFromMsOrNull(query.endTimeBeforeMs ?? null),
  };
}

/** Attempt filters in the store protocol. */
export type WireAttemptQuery = WirePageOptions;

/** Schema of {@link WireAttemptQuery}. */
export const wireAttemptQuerySchema: z.ZodType<WireAttemptQuery> = z.object(wirePageOptionsShape);

/** Decodes attempt filters. */
export function attemptQueryFromWire(wire: WireAttemptQuery): AttemptQuery {
  return pageOptionsFromWire(wire, attemptSortFields);
}

/** Encodes attempt filters. */
export function attemptQueryToWire(query: AttemptQuery): WireAttemptQuery {
  return pageOptionsToWire(query, attemptSortFields);
}

/** Span filters in the store protocol. */
export interface WireSpanQuery extends WirePageOptions {
  readonly rollout_id: string;
  readonly attempt_id?: string | null | undefined;
  readonly trace_id?: string | null | undefined;
  readonly trace_id_contains?: string | null | undefined;
  readonly span_id?: string | null | undefined;
  readonly span_id_contains?: string | null | undefined;
  readonly parent_id?: string | null | undefined;
  readonly parent_id_contains?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly name_contains?: string | null | undefined;
  readonly filter_logic?: FilterLogic | null | undefined;
}

/** Schema of {@link WireSpanQuery}. */
export const wireSpanQuerySchema: z.ZodType<WireSpanQuery> = z.object({
  ...wirePageOptionsShape,
  rollout_id: z.string(),
  attempt_id: z.string().nullish(),
  trace_id: z.string().nullish(),
  trace_id_contains: z.string().nullish(),
  span_id: z.string().nullish(),
  span_id_contains: z.string().nullish(),
  parent_id: z.string().nullish(),
  parent_id_contains: z.string().nullish(),
  name: z.string().nullish(),
  name_contains: z.string().nullish(),
  filter_logic: filterLogicSchema,
});

/** Decodes span filters. */
export function spanQueryFromWire(wire: WireSpanQuery): SpanQuery {
  return {
    ...pageOptionsFromWire(wire, spanSortFields),
    rolloutId: wire.rollout_id,
    ...present({
      attemptId: wire.attempt_id,
      traceId: wire.trace_id,
      traceIdContains: wire.trace_id_contains,
      spanId: wire.span_id,
      spanIdContains: wire.span_id_contains,
      parentId: wire.parent_id,
      parentIdContains: wire.parent_id_contains,
      name: wire.name,
      nameContains: wire.name_contains,
      filterLogic: wire.filter_logic,
    }),
  };
}

/** Encodes span filters. */
export function spanQueryToWire(query: SpanQuery): WireSpanQuery {
  return {
    ...pageOptionsToWire(query, spanSortFields),
    rollout_id: query.rolloutId,
    attempt_id: query.attemptId,
    trace_id: query.traceId,
    trace_id_contains: query.traceIdContains,
    span_id: query.spanId,
    span_id_contains: query.spanIdContains,
    parent_id: query.parentId,
    parent_id_contains: query.parentIdContains,
    name: query.name,
    name_contains: query.nameContains,
    filter_logic: query.filterLogic,
  };
}

/** Worker filters in the store protocol. */
export interface WireWorkerQuery extends WirePageOptions {
  readonly status_in?: readonly WorkerStatus[] | null | undefined;
  readonly worker_id_contains?: string | null | undefined;
  readonly filter_logic?: FilterLogic | null | undefined;
}

/** Schema of {@link WireWorkerQuery}. */
export const wireWorkerQuerySchema: z.ZodType<WireWorkerQuery> = z.object({
  ...wirePageOptionsShape,
  status_in: z.array(wireWorkerStatusSchema).nullish(),
  worker_id_contains: z.string().nullish(),
  filter_logic: filterLogicSchema,
});

/** Decodes worker filters. */
export function workerQueryFromWire(wire: WireWorkerQuery): WorkerQuery {
  return {
    ...pageOptionsFromWire(wire, workerSortFields),
    ...present({
      statusIn: wire.status_in,
      workerIdContains: wire.worker_id_contains,
      filterLogic: wire.filter_logic,
    }),
  };
}

/** Encodes worker filters. */
export function workerQueryToWire(query: WorkerQuery): WireWorkerQuery {
  return {
    ...pageOptionsToWire(query, workerSortFields),
    status_in: query.statusIn,
    worker_id_contains: query.workerIdContains,
    filter_logic: query.filterLogic,
  };
}

/** Resources snapshot filters in the store protocol. */
export interface WireResourcesQuery extends WirePageOptions {
  readonly resources_id?: string | null | undefined;
  readonly resources_id_contains?: string | null | undefined;
}

/** Schema of {@link WireResourcesQuery}. */
export const wireResourcesQuerySchema: z.ZodType<WireResourcesQuery> = z.object({
  ...wirePageOptionsShape,
  resources_id: z.string().nullish(),
  resources_id_contains: z.string().nullish(),
});

/** Decodes resources snapshot filters. */
export function resourcesQueryFromWire(wire: WireResourcesQuery): ResourcesQuery {
  return {
    ...pageOptionsFromWire(wire, resourcesSortFields),
    ...present({ resourcesId: wire.resources_id, resourcesIdContains: wire.resources_id_contains }),
  };
}

/** Encodes resources snapshot filters. */
export function resourcesQueryToWire(query: ResourcesQuery): WireResourcesQuery {
  return {
    ...pageOptionsToWire(query, resourcesSortFields),
    resources_id: query.resourcesId,
    resources_id_contains: query.resourcesIdContains,
  };
}
