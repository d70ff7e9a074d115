import type { JsonObject } from '../base/json.ts';
import type { RolloutMode } from '../spans/model-call.ts';
import type { RolloutStatus } from './rollout-status.ts';
import type { WorkerStatus } from './worker.ts';

/** One page of a list. */
export interface Page<TItem> {
  readonly items: readonly TItem[];
  /** The requested limit; -1 for none. */
  readonly limit: number;
  readonly offset: number;
  /** Total number of items. */
  readonly total: number;
}

/** Sorting and pagination of a list. */
export interface PageOptions<TSortField extends string> {
  readonly sortBy?: TSortField;
  /** @default 'asc' */
  readonly sortOrder?: 'asc' | 'desc';
  /** At least 1, or -1 for all. @default -1 */
  readonly limit?: number;
  /** @default 0 */
  readonly offset?: number;
}

/** Rollout filters. An empty list of statuses or ids matches nothing. */
export interface RolloutQuery
  extends PageOptions<'startTimeMs' | 'endTimeMs' | 'status' | 'rolloutId' | 'mode' | 'resourcesId'> {
  readonly statusIn?: readonly RolloutStatus[];
  readonly rolloutIdIn?: readonly string[];
  readonly rolloutIdContains?: string;
  readonly modeIn?: readonly RolloutMode[];
  readonly runId?: string;
  /** Top-level metadata fields that must be equal. */
  readonly metadata?: JsonObject;
  /** Only rollouts that started at or after this time, in Unix milliseconds. */
  readonly startTimeFromMs?: number;
  /** Only rollouts that started before this time, in Unix milliseconds. */
  readonly startTimeBeforeMs?: number;
  /** Only rollouts that ended at or after this time, in Unix milliseconds. */
  readonly endTimeFromMs?: number;
  /** Only rollouts that ended before this time, in Unix milliseconds. */
  readonly endTimeBeforeMs?: number;
  /** How the status and id filters combine; all other filters must match. @default 'and' */
  readonly filterLogic?: 'and' | 'or';
}

/** Attempt filters. */
export type AttemptQuery = PageOptions<
  'sequenceId' | 'startTimeMs' | 'endTimeMs' | 'status' | 'attemptId' | 'workerId' | 'lastHeartbeatTimeMs'
>;

/** Span filters within a rollout. */
export interface SpanQuery
  extends PageOptions<
    'sequenceId' | 'startTimeMs' | 'endTimeMs' | 'name' | 'attemptId' | 'traceId' | 'spanId' | 'parentId'
  > {
  readonly rolloutId: string;
  /** An attempt's id, or `latest`; every attempt by default. */
  readonly attemptId?: string;
  readonly traceId?: string;
  readonly traceIdContains?: string;
  readonly spanId?: string;
  readonly spanIdContains?: string;
  readonly parentId?: string;
  readonly parentIdContains?: string;
  readonly name?: string;
  readonly nameContains?: string;
  /** How the filters combine; rollout and attempt must match. @default 'and' */
  readonly filterLogic?: 'and' | 'or';
}

/** Pagination of the metrics of a run, by step. */
export interface MetricQuery {
  /** @default 'asc' */
  readonly sortOrder?: 'asc' | 'desc';
  /** At least 1, or -1 for all. @default -1 */
  readonly limit?: number;
  /** @default 0 */
  readonly offset?: number;
}

/** Worker filters. */
export interface WorkerQuery
  extends PageOptions<
    | 'workerId'
    | 'status'
    | 'lastHeartbeatTimeMs'
    | 'lastDequeueTimeMs'
    | 'lastBusyTimeMs'
    | 'lastIdleTimeMs'
    | 'currentRolloutId'
    | 'currentAttemptId'
  > {
  readonly statusIn?: readonly WorkerStatus[];
  readonly workerIdContains?: string;
  /** How the filters combine. @default 'and' */
  readonly filterLogic?: 'and' | 'or';
}

/** Resources snapshot filters. */
export interface ResourcesQuery extends PageOptions<'resourcesId' | 'version' | 'createTimeMs' | 'updateTimeMs'> {
  readonly resourcesId?: string;
  readonly resourcesIdContains?: string;
}
