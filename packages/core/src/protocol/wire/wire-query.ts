import * as z from 'zod';
import type { AttemptQuery, ResourcesQuery, RolloutQuery, SpanQuery, WorkerQuery } from '../../store/queries.ts';
import type { SpanSearch, SpanSearchPage } from '../../store/span-search.ts';
import { optionsCodec, recordCodec, seconds, type WireFields } from './wire-fields.ts';
import { wireJsonObject } from './wire-json.ts';
import { pageFields } from './wire-page.ts';
import { wireRolloutModeSchema, wireRolloutStatusSchema } from './wire-rollout.ts';
import { spanCodec, wireAttributesSchema, wireSpanStatusSchema } from './wire-span.ts';
import { wireWorkerStatusSchema } from './wire-worker.ts';

const filterLogic = z.enum(['and', 'or']).nullish();
const text = z.string().nullish();
const texts = z.array(z.string()).nullish();
const time = seconds.nullish();

/** The fields of filters of rollouts. Filters by mode, run, metadata and time are extensions. */
export const rolloutFilterFields: WireFields<
  Omit<RolloutQuery, 'filterLogic' | 'sortBy' | 'sortOrder' | 'limit' | 'offset'>
> = {
  statusIn: ['status_in', z.array(wireRolloutStatusSchema).nullish()],
  rolloutIdIn: ['rollout_id_in', texts],
  rolloutIdContains: ['rollout_id_contains', text],
  modeIn: ['mode_in', z.array(wireRolloutModeSchema).nullish()],
  runId: ['run_id', text],
  metadata: ['metadata', wireJsonObject.nullish()],
  startTimeFromMs: ['start_time_from', time],
  startTimeBeforeMs: ['start_time_before', time],
  endTimeFromMs: ['end_time_from', time],
  endTimeBeforeMs: ['end_time_before', time],
};

/** Rollout filters in the store protocol. */
export const rolloutQueryCodec: z.ZodType<RolloutQuery> = optionsCodec<RolloutQuery>({
  ...pageFields({
    start_time: 'startTimeMs',
    end_time: 'endTimeMs',
    status: 'status',
    rollout_id: 'rolloutId',
    mode: 'mode',
    resources_id: 'resourcesId',
  }),
  ...rolloutFilterFields,
  filterLogic: ['filter_logic', filterLogic],
});

/** Attempt filters in the store protocol. */
export const attemptQueryCodec: z.ZodType<AttemptQuery> = optionsCodec<AttemptQuery>(
  pageFields({
    sequence_id: 'sequenceId',
    start_time: 'startTimeMs',
    end_time: 'endTimeMs',
    status: 'status',
    attempt_id: 'attemptId',
    worker_id: 'workerId',
    last_heartbeat_time: 'lastHeartbeatTimeMs',
  }),
);

/** Span filters in the store protocol. */
export const spanQueryCodec: z.ZodType<SpanQuery> = optionsCodec<SpanQuery>({
  ...pageFields({
    sequence_id: 'sequenceId',
    start_time: 'startTimeMs',
    end_time: 'endTimeMs',
    name: 'name',
    attempt_id: 'attemptId',
    trace_id: 'traceId',
    span_id: 'spanId',
    parent_id: 'parentId',
  }),
  rolloutId: ['rollout_id', z.string()],
  attemptId: ['attempt_id', text],
  traceId: ['trace_id', text],
  traceIdContains: ['trace_id_contains', text],
  spanId: ['span_id', text],
  spanIdContains: ['span_id_contains', text],
  parentId: ['parent_id', text],
  parentIdContains: ['parent_id_contains', text],
  name: ['name', text],
  nameContains: ['name_contains', text],
  filterLogic: ['filter_logic', filterLogic],
});

/** Worker filters in the store protocol. */
export const workerQueryCodec: z.ZodType<WorkerQuery> = optionsCodec<WorkerQuery>({
  ...pageFields({
    worker_id: 'workerId',
    status: 'status',
    last_heartbeat_time: 'lastHeartbeatTimeMs',
    last_dequeue_time: 'lastDequeueTimeMs',
    last_busy_time: 'lastBusyTimeMs',
    last_idle_time: 'lastIdleTimeMs',
    current_rollout_id: 'currentRolloutId',
    current_attempt_id: 'currentAttemptId',
  }),
  statusIn: ['status_in', z.array(wireWorkerStatusSchema).nullish()],
  workerIdContains: ['worker_id_contains', text],
  filterLogic: ['filter_logic', filterLogic],
});

/** Resources snapshot filters in the store protocol. */
export const resourcesQueryCodec: z.ZodType<ResourcesQuery> = optionsCodec<ResourcesQuery>({
  ...pageFields({
    resources_id: 'resourcesId',
    version: 'version',
    create_time: 'createTimeMs',
    update_time: 'updateTimeMs',
  }),
  resourcesId: ['resources_id', text],
  resourcesIdContains: ['resources_id_contains', text],
});

/** Span filters across rollouts, an extension of the Agent Lightning 0.3 protocol. */
export const spanSearchCodec: z.ZodType<SpanSearch> = optionsCodec<SpanSearch>({
  runId: ['run_id', z.string().nullish()],
  rolloutIdIn: ['rollout_id_in', z.array(z.string()).nullish()],
  name: ['name', z.string().nullish()],
  nameContains: ['name_contains', z.string().nullish()],
  attributes: ['attributes', wireAttributesSchema.nullish()],
  statusIn: ['status_in', z.array(wireSpanStatusSchema).nullish()],
  startTimeFromMs: ['start_time_from', seconds.nullish()],
  startTimeBeforeMs: ['start_time_before', seconds.nullish()],
  sortOrder: ['sort_order', z.enum(['asc', 'desc']).nullish()],
  limit: ['limit', z.number().nullish()],
  cursor: ['cursor', z.string().nullish()],
});

/** One page of search results. */
export const spanSearchPageCodec: z.ZodType<SpanSearchPage> = recordCodec<SpanSearchPage>({
  items: ['items', z.array(spanCodec)],
  nextCursor: ['next_cursor', z.string().nullable()],
});
