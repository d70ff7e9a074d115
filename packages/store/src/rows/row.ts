import type {
  Attempt,
  AttemptStatus,
  JsonObject,
  Rollout,
  RolloutMode,
  RolloutStatus,
  Run,
  Span,
  SpanInput,
} from '@agentlightning/core';
import type {
  AttemptedRollout,
  MetricPoint,
  NamedResources,
  ResourcesSnapshot,
  RunStatus,
  Worker,
  WorkerStatus,
} from '@agentlightning/core/store';
import {
  readInteger,
  readJson,
  readJsonOrNull,
  readNumber,
  readNumberOrNull,
  readText,
  readTextOrNull,
} from '../sql/row-value.ts';
import type { SqlRow } from '../sql/sql-driver.ts';

/** A rollout with its internal columns. */
export interface RolloutRecord {
  readonly rollout: Rollout;
  readonly latestAttemptId: string | null;
  /** Its position in the order of creation. */
  readonly position: number;
}

/** An attempt with its internal columns. */
export interface AttemptRecord {
  readonly attempt: Attempt;
  /** Whether it counts towards the rollout's `maxAttempts`. */
  readonly isCounted: boolean;
  /** Whether its rollout was returned to the queue: late spans do not reopen it. */
  readonly isGivenBack: boolean;
}

/** The rollout of a row of `rollouts`. Statuses and modes are trusted because only this package writes them. */
export function rolloutFromRow(row: SqlRow): Rollout {
  return {
    rolloutId: readText(row, 'rollout_id'),
    input: readJson(row, 'input'),
    status: readText(row, 'status') as RolloutStatus,
    mode: readTextOrNull(row, 'mode') as RolloutMode | null,
    resourcesId: readTextOrNull(row, 'resources_id'),
    runId: readTextOrNull(row, 'run_id'),
    config: {
      timeoutMs: readNumberOrNull(row, 'timeout_ms'),
      unresponsiveMs: readNumberOrNull(row, 'unresponsive_ms'),
      maxAttempts: readInteger(row, 'max_attempts'),
      retryCondition: readJson<AttemptStatus[]>(row, 'retry_condition'),
    },
    metadata: readJsonOrNull(row, 'metadata'),
    startTimeMs: readNumber(row, 'start_time_ms'),
    endTimeMs: readNumberOrNull(row, 'end_time_ms'),
  };
}

/** The columns of a rollout's latest attempt, for {@link attemptFromRow} with the prefix `a_`. */
export const latestAttemptColumns: string = `a.attempt_id AS a_attempt_id, a.sequence_id AS a_sequence_id, a.status AS a_status,
    a.worker_id AS a_worker_id, a.start_time_ms AS a_start_time_ms, a.end_time_ms AS a_end_time_ms,
    a.last_heartbeat_time_ms AS a_last_heartbeat_time_ms, a.metadata AS a_metadata`;

/** The columns of a rollout and of its latest attempt, for {@link attemptedRolloutFromRow}. */
export const rolloutWithAttempt: { readonly columns: string; readonly from: string } = {
  columns: `r.*, ${latestAttemptColumns}`,
  from: `rollouts AS r
    LEFT JOIN attempts AS a ON a.rollout_id = r.rollout_id AND a.attempt_id = r.latest_attempt_id`,
};

/** The rollout of a row, with its latest attempt if it has one. */
export function attemptedRolloutFromRow(row: SqlRow): Rollout | AttemptedRollout {
  const rollout = rolloutFromRow(row);
  if (row.a_attempt_id === null) return rollout;
  return { ...rollout, attempt: attemptFromRow(row, 'a_') };
}

/** The attempt of a row of `attempts`; `prefix` precedes every column name except the rollout's. */
export function attemptFromRow(row: SqlRow, prefix: '' | 'a_' = ''): Attempt {
  return {
    rolloutId: readText(row, 'rollout_id'),
    attemptId: readText(row, `${prefix}attempt_id`),
    sequenceId: readInteger(row, `${prefix}sequence_id`),
    status: readText(row, `${prefix}status`) as AttemptStatus,
    workerId: readTextOrNull(row, `${prefix}worker_id`),
    startTimeMs: readNumber(row, `${prefix}start_time_ms`),
    endTimeMs: readNumberOrNull(row, `${prefix}end_time_ms`),
    lastHeartbeatTimeMs: readNumberOrNull(row, `${prefix}last_heartbeat_time_ms`),
    metadata: readJsonOrNull(row, `${prefix}metadata`),
  };
}

/** The fields of a span without a separate column. */
export type SpanBody = Pick<Span, 'status' | 'attributes' | 'events' | 'links' | 'resource' | 'extra'>;

/** The fields of a span without a separate column. */
export function spanBody(span: SpanInput): SpanBody {
  const { status, attributes, events, links, resource, extra } = span;
  return { status, attributes, events, links, resource, ...(extra === undefined ? {} : { extra }) };
}

/** The span of a row of `spans`. */
export function spanFromRow(row: SqlRow): Span {
  return {
    rolloutId: readText(row, 'rollout_id'),
    attemptId: readText(row, 'attempt_id'),
    sequenceId: readInteger(row, 'sequence_id'),
    traceId: readText(row, 'trace_id'),
    spanId: readText(row, 'span_id'),
    parentId: readTextOrNull(row, 'parent_id'),
    name: readText(row, 'name'),
    startTimeMs: readNumberOrNull(row, 'start_time_ms'),
    endTimeMs: readNumberOrNull(row, 'end_time_ms'),
    ...readJson<SpanBody>(row, 'body'),
  };
}

/** The snapshot of a row of `resources`. */
export function resourcesFromRow(row: SqlRow): ResourcesSnapshot {
  return {
    resourcesId: readText(row, 'resources_id'),
    version: readInteger(row, 'version'),
    resources: readJson<NamedResources>(row, 'resources'),
    createTimeMs: readNumber(row, 'create_time_ms'),
    updateTimeMs: readNumber(row, 'update_time_ms'),
  };
}

/** The worker of a row of `workers`. */
export function workerFromRow(row: SqlRow): Worker {
  return {
    workerId: readText(row, 'worker_id'),
    status: readText(row, 'status') as WorkerStatus,
    heartbeatStats: readJsonOrNull(row, 'heartbeat_stats'),
    lastHeartbeatTimeMs: readNumberOrNull(row, 'last_heartbeat_time_ms'),
    lastDequeueTimeMs: readNumberOrNull(row, 'last_dequeue_time_ms'),
    lastBusyTimeMs: readNumberOrNull(row, 'last_busy_time_ms'),
    lastIdleTimeMs: readNumberOrNull(row, 'last_idle_time_ms'),
    currentRolloutId: readTextOrNull(row, 'current_rollout_id'),
    currentAttemptId: readTextOrNull(row, 'current_attempt_id'),
  };
}

/** The run of a row of `runs`. */
export function runFromRow(row: SqlRow): Run {
  return {
    runId: readText(row, 'run_id'),
    name: readText(row, 'name'),
    status: readText(row, 'status') as RunStatus,
    config: readJson<JsonObject>(row, 'config'),
    state: readJson<JsonObject>(row, 'state'),
    createTimeMs: readNumber(row, 'create_time_ms'),
    updateTimeMs: readNumber(row, 'update_time_ms'),
  };
}

/** The metrics of a row of `metrics`. JSON has no NaN and writes null for it. */
export function metricPointFromRow(row: SqlRow): MetricPoint {
  const stored = readJson<Record<string, number | null>>(row, 'metric_values');
  return {
    runId: readText(row, 'run_id'),
    step: readInteger(row, 'step'),
    timeMs: readNumber(row, 'time_ms'),
    values: Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, value ?? Number.NaN])),
  };
}
