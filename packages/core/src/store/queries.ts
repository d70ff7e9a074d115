import type { JsonObject } from '../base/json.ts';
import type { Feedback } from '../spans/feedback.ts';
import type { RolloutMode } from '../spans/model-call.ts';
import type { RolloutStatus } from './rollout-status.ts';
import type { WorkerStatus } from './worker.ts';

/** One page of a list. */
export interface Page<TItem> {
  /** The items of the page. */
  readonly items: readonly TItem[];
  /** The requested limit; -1 for none. */
  readonly limit: number;
  /** Number of items before the page. */
  readonly offset: number;
  /** Total number of items. */
  readonly total: number;
}

/** Sorting and pagination of a list. */
export interface PageOptions<TSortField extends string> {
  /** Field to sort by. */
  readonly sortBy?: TSortField;
  /** @default 'asc' */
  readonly sortOrder?: 'asc' | 'desc';
  /** At least 1, or -1 for all. @default -1 */
  readonly limit?: number;
  /** Number of items to skip. @default 0 */
  readonly offset?: number;
}

/** Rollout filters. An empty list of statuses or ids matches nothing. */
export interface RolloutQuery
  extends PageOptions<'startTimeMs' | 'endTimeMs' | 'status' | 'rolloutId' | 'mode' | 'resourcesId'> {
  /** Any of these statuses. */
  readonly statusIn?: readonly RolloutStatus[];
  /** Any of these ids. */
  readonly rolloutIdIn?: readonly string[];
  /** Part of the id. */
  readonly rolloutIdContains?: string;
  /** Any of these purposes. */
  readonly modeIn?: readonly RolloutMode[];
  /** Only rollouts of this run. */
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
  /** The rollout of the spans. */
  readonly rolloutId: string;
  /** An attempt's id, or `latest`; every attempt by default. */
  readonly attemptId?: string;
  /** Only spans of this trace. */
  readonly traceId?: string;
  /** Part of the trace id. */
  readonly traceIdContains?: string;
  /** Only the span of this id. */
  readonly spanId?: string;
  /** Part of the span id. */
  readonly spanIdContains?: string;
  /** Only children of this span. */
  readonly parentId?: string;
  /** Part of the parent's id. */
  readonly parentIdContains?: string;
  /** Only spans of this name. */
  readonly name?: string;
  /** Part of the name. */
  readonly nameContains?: string;
  /** How the filters combine; rollout and attempt must match. @default 'and' */
  readonly filterLogic?: 'and' | 'or';
}

/** The kinds of runs that a list is filtered by: those that `Run.state` names. */
export type ListedRunKind = 'prompt-search' | 'evaluation' | 'deployment' | 'dataset';

/** Run filter and pagination, newest first. */
export interface RunQuery {
  /** Only runs of this kind. @default all */
  readonly kind?: ListedRunKind;
  /** At least 1, or -1 for all. @default -1 */
  readonly limit?: number;
  /** Number of items to skip. @default 0 */
  readonly offset?: number;
}

/** Pagination of the metrics of a run, by step. */
export interface MetricQuery {
  /** @default 'asc' */
  readonly sortOrder?: 'asc' | 'desc';
  /** At least 1, or -1 for all. @default -1 */
  readonly limit?: number;
  /** Number of points to skip. @default 0 */
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
  /** Any of these statuses. */
  readonly statusIn?: readonly WorkerStatus[];
  /** Part of the id. */
  readonly workerIdContains?: string;
  /** How the filters combine. @default 'and' */
  readonly filterLogic?: 'and' | 'or';
}

/** Resources snapshot filters. */
export interface ResourcesQuery extends PageOptions<'resourcesId' | 'version' | 'createTimeMs' | 'updateTimeMs'> {
  /** Only the snapshot of this id. */
  readonly resourcesId?: string;
  /** Part of the id. */
  readonly resourcesIdContains?: string;
}

/** Feedback filters, which must all match, and pagination. */
export interface FeedbackQuery {
  /** Only feedback on rollouts of this run or deployment. @default any */
  readonly runId?: string;
  /** Only feedback on this rollout. @default any */
  readonly rolloutId?: string;
  /** Only feedback given at or after this time, in Unix milliseconds. */
  readonly timeFromMs?: number;
  /** Maximum number of records, 1 to 1000. @default 100 */
  readonly limit?: number;
  /** `nextCursor` of the previous page of the same query. @default the beginning */
  readonly cursor?: string;
}

/** One page of feedback. It can hold fewer records than requested, or none, although there are more. */
export interface FeedbackPage {
  /** The feedback of the page. */
  readonly items: readonly Feedback[];
  /** Cursor of the next page; null when there are no more. */
  readonly nextCursor: string | null;
}
