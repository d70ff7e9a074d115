import type { Attempt, AttemptStatus } from './attempt.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { NamedResources, ResourcesSnapshot } from './resource.ts';
import type { DeletionCounts, RetentionPolicy, RetentionPreview } from './retention.ts';
import type {
  AttemptedRollout,
  EnqueueRolloutRequest,
  Rollout,
  RolloutConfig,
  RolloutMode,
  StartRolloutRequest,
} from './rollout.ts';
import type { RolloutStatus } from './rollout-status.ts';
import type { MetricPoint, Run, RunStatus } from './run.ts';
import type { RunStatistics } from './run-statistics.ts';
import type { Span, SpanInput } from './span.ts';
import type { SpanSearch, SpanSearchPage } from './span-search.ts';
import type { StoreChange, WatchOptions } from './store-change.ts';
import type { Worker, WorkerStatus } from './worker.ts';

/** A part of a longer list. */
export interface Page<TItem> {
  readonly items: readonly TItem[];
  /** The limit that was asked for; -1 for none. */
  readonly limit: number;
  readonly offset: number;
  /** How many items there are in all. */
  readonly total: number;
}

/** How to sort and cut a list. */
export interface PageOptions<TSortField extends string> {
  readonly sortBy?: TSortField;
  /** @default 'asc' */
  readonly sortOrder?: 'asc' | 'desc';
  /** At least 1, or -1 for all. @default -1 */
  readonly limit?: number;
  /** @default 0 */
  readonly offset?: number;
}

/** Which rollouts to list. An empty list of statuses or ids matches nothing. */
export interface RolloutQuery
  extends PageOptions<'startTimeMs' | 'endTimeMs' | 'status' | 'rolloutId' | 'mode' | 'resourcesId'> {
  readonly statusIn?: readonly RolloutStatus[];
  readonly rolloutIdIn?: readonly string[];
  readonly rolloutIdContains?: string;
  readonly modeIn?: readonly RolloutMode[];
  readonly runId?: string;
  /** Top-level metadata fields that must be equal. */
  readonly metadata?: JsonObject;
  /** Only rollouts that started then or later, in Unix milliseconds. */
  readonly startTimeFromMs?: number;
  /** Only rollouts that started earlier, in Unix milliseconds. */
  readonly startTimeBeforeMs?: number;
  /** Only rollouts that ended then or later, in Unix milliseconds. */
  readonly endTimeFromMs?: number;
  /** Only rollouts that ended earlier, in Unix milliseconds. */
  readonly endTimeBeforeMs?: number;
  /** How the filters on status and id combine; all others always must hold. @default 'and' */
  readonly filterLogic?: 'and' | 'or';
}

/** Which attempts of a rollout to list. */
export type AttemptQuery = PageOptions<
  'sequenceId' | 'startTimeMs' | 'endTimeMs' | 'status' | 'attemptId' | 'workerId' | 'lastHeartbeatTimeMs'
>;

/** Which spans of a rollout to list. */
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
  /** How the filters combine; rollout and attempt always must hold. @default 'and' */
  readonly filterLogic?: 'and' | 'or';
}

/** Which workers to list. */
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

/** Which resource snapshots to list. */
export interface ResourcesQuery extends PageOptions<'resourcesId' | 'version' | 'createTimeMs' | 'updateTimeMs'> {
  readonly resourcesId?: string;
  readonly resourcesIdContains?: string;
}

/** How to take rollouts from the queue. */
export interface ClaimOptions {
  readonly workerId?: string | null;
  /** How many at most. @default 1 */
  readonly limit?: number;
  /** Only rollouts of this run. @default any */
  readonly runId?: string;
  /** How long to wait for the first one when the queue is empty, in milliseconds. @default 0 */
  readonly waitMs?: number;
  /** Ends the wait early; the claim then returns nothing. */
  readonly signal?: AbortSignal;
}

/** How to wait for rollouts to end. */
export interface WaitOptions {
  /** In milliseconds; 0 looks once. @default Infinity */
  readonly timeoutMs?: number;
  /** Ends the wait early; it then returns what is finished. */
  readonly signal?: AbortSignal;
}

/** What may be changed of a rollout. An absent field stays; null is written. */
export interface RolloutPatch {
  readonly input?: JsonValue;
  readonly mode?: RolloutMode | null;
  readonly resourcesId?: string | null;
  readonly status?: RolloutStatus;
  readonly config?: RolloutConfig;
  readonly metadata?: JsonObject | null;
}

/** What may be changed of an attempt. An absent field stays. */
export interface AttemptPatch {
  readonly status?: AttemptStatus;
  readonly workerId?: string;
  readonly lastHeartbeatTimeMs?: number;
  readonly metadata?: JsonObject;
}

/** What may be changed of a run. An absent field stays. */
export interface RunPatch {
  readonly status?: RunStatus;
  readonly state?: JsonObject;
}

/** How many of everything a store holds. */
export interface StoreStatistics {
  /** The backend: `sqlite`, `http`. */
  readonly name: string;
  readonly totalRollouts: number;
  readonly totalAttempts: number;
  readonly totalSpans: number;
  readonly totalResources: number;
  readonly totalWorkers: number;
  /** Milliseconds since the store was opened. */
  readonly uptimeMs: number;
}

/**
 * The store: where tasks, rollouts, spans, resources and runs live, and where trainer, runners,
 * gateway and agents meet.
 *
 * Invariants, held by every backend and checked by the contract suite:
 * - **Durable.** What a method acknowledged survives a crash of the process.
 * - **Queue.** First in, first out. Every queued rollout is claimed by exactly one claimant. A rollout
 *   that becomes `queuing` or `requeuing` is in the queue exactly once. Cancelling takes it out.
 * - **State machine.** Statuses change only as `rolloutTransitions` allows; terminal ones are final unless
 *   reopened by writing `requeuing`. Only the latest attempt changes its rollout's status. A late write to
 *   a finished rollout changes the attempt's record, never the rollout's status.
 * - **Leases.** An attempt that was claimed but never heard of again becomes `unresponsive` after the
 *   store's claim lease, and its rollout returns to the queue without using up an attempt of its budget.
 *   A rollout that loses its runner so again and again fails after the store's limit of lost claims, with
 *   the reason in its metadata and its attempt's, under `lostClaimsReasonKey`. Timeouts and silence (`RolloutConfig`) are enforced by a watchdog that needs no traffic.
 * - **Spans.** Sequence ids are given per rollout, from 1, without gaps under concurrency; an explicit one
 *   raises the counter to at least itself. A span that is already there, by attempt and span id, is left
 *   alone. The first span of an attempt makes it `running`, unless its rollout was
 *   sent back to the queue meanwhile; every span is a heartbeat.
 * - **Deletion.** A rollout goes with its attempts and spans. Who waits for one that is deleted learns that it
 *   is gone. What is unfinished, and runs that are under way, are deleted only by force.
 * - **Resources.** Every update raises the version; the last one written is the latest.
 *
 * Errors: NOT_FOUND for unknown ids, ILLEGAL_TRANSITION, VALIDATION for bad limits and fields,
 * QUOTA_EXCEEDED for spans beyond a quota of their attempt, STORE_FULL, and UNREACHABLE for a store behind HTTP.
 */
export interface Store {
  /** Puts rollouts into the queue, all or none; known ids return the existing rollouts unchanged. */
  enqueueRollouts(requests: readonly EnqueueRolloutRequest[]): Promise<readonly Rollout[]>;
  /** Starts a rollout past the queue, with its first attempt. */
  startRollout(request: StartRolloutRequest): Promise<AttemptedRollout>;
  /** Takes rollouts from the queue and opens an attempt for each. */
  claimRollouts(options?: ClaimOptions): Promise<readonly AttemptedRollout[]>;
  /** Opens another attempt by hand, whatever the rollout's `maxAttempts`; an open one is closed as `unresponsive`. */
  startAttempt(rolloutId: string, workerId?: string | null): Promise<AttemptedRollout>;
  /** With the latest attempt, if there is one. Throws NOT_FOUND when there is no such rollout. */
  getRollout(rolloutId: string): Promise<Rollout | AttemptedRollout>;
  /** Each with its latest attempt, if it has one; in the order they came in by default. */
  queryRollouts(query?: RolloutQuery): Promise<Page<Rollout | AttemptedRollout>>;
  /**
   * Changes a rollout. Writing `queuing` or `requeuing` closes its open attempts as `unresponsive`, which costs none of its
   * `maxAttempts`, also where they fail later; writing a terminal status closes them as `succeeded` or `failed`.
   */
  updateRollout(rolloutId: string, patch: RolloutPatch): Promise<Rollout>;
  /** Resolves with those of the rollouts that are finished: all of them, or fewer when the wait ended early. */
  waitForRollouts(rolloutIds: readonly string[], options?: WaitOptions): Promise<readonly Rollout[]>;

  queryAttempts(rolloutId: string, query?: AttemptQuery): Promise<Page<Attempt>>;
  /** Null when the rollout was never claimed. */
  getLatestAttempt(rolloutId: string): Promise<Attempt | null>;
  /** `latest` stands for the id of the latest attempt. */
  updateAttempt(rolloutId: string, attemptId: string, patch: AttemptPatch): Promise<Attempt>;

  /** Records spans in one transaction. Null stands for a span that was there already. */
  appendSpans(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]>;
  /** Reserves the next sequence id of each attempt's rollout, in order. */
  nextSpanSequenceIds(
    attempts: readonly { readonly rolloutId: string; readonly attemptId: string }[],
  ): Promise<readonly number[]>;
  querySpans(query: SpanQuery): Promise<Page<Span>>;
  /** Finds spans over any number of rollouts. Throws NOT_FOUND when there is no such run. */
  searchSpans(search?: SpanSearch): Promise<SpanSearchPage>;

  /** Adds a snapshot under a new id. */
  addResources(resources: NamedResources): Promise<ResourcesSnapshot>;
  /** Writes a snapshot's next version, or its first. */
  updateResources(resourcesId: string, resources: NamedResources): Promise<ResourcesSnapshot>;
  getResources(resourcesId: string): Promise<ResourcesSnapshot>;
  /** Null when there are none yet. */
  getLatestResources(): Promise<ResourcesSnapshot | null>;
  queryResources(query?: ResourcesQuery): Promise<Page<ResourcesSnapshot>>;

  /** A worker's sign of life, with what it says of itself; without, what it said before stays. */
  updateWorker(workerId: string, heartbeatStats?: JsonObject): Promise<Worker>;
  /** Null when there is no such worker. */
  getWorker(workerId: string): Promise<Worker | null>;
  queryWorkers(query?: WorkerQuery): Promise<Page<Worker>>;

  /** Adds a run; CONFLICT when the id is taken. */
  createRun(run: { readonly runId: string; readonly name: string; readonly config: JsonObject }): Promise<Run>;
  getRun(runId: string): Promise<Run>;
  /** Newest first. */
  queryRuns(options?: { readonly limit?: number; readonly offset?: number }): Promise<Page<Run>>;
  /** Changes a run and records the metrics of a step in one transaction: a step is finished, or it is not. */
  updateRun(runId: string, patch: RunPatch, metrics?: readonly MetricPoint[]): Promise<Run>;
  /** In order of step; a step's later record replaces its earlier one. */
  queryMetrics(runId: string): Promise<readonly MetricPoint[]>;
  /** How far the rollouts of a run are; `queryRollouts({ runId })` lists them. */
  runStatistics(runId: string): Promise<RunStatistics>;

  /** Deletes finished rollouts, all or none; CONFLICT when one of them is not finished. */
  deleteRollouts(rolloutIds: readonly string[]): Promise<DeletionCounts>;
  /**
   * Deletes a run with its rollouts and metrics; CONFLICT when it is under way or has unfinished
   * rollouts, unless forced. It goes in small parts: one that was interrupted is completed by asking again.
   */
  deleteRun(runId: string, options?: { readonly force?: boolean }): Promise<DeletionCounts>;
  /** Deletes what a policy gives up, in small parts, so that others get their turn. */
  applyRetention(policy: RetentionPolicy): Promise<DeletionCounts>;
  /** What {@link applyRetention} would delete now. It takes as long as counting does. */
  previewRetention(policy: RetentionPolicy): Promise<RetentionPreview>;
  /**
   * A run as one file: its state, metrics, resources, rollouts, attempts and spans, as gzip'd JSON lines (see the
   * README of the store). Read in small parts, each rollout as it is at one moment.
   */
  exportRun(runId: string): AsyncIterable<Uint8Array>;
  /**
   * Adds a run from such a file, all of it or nothing; CONFLICT when the run or a rollout of it is there already,
   * VALIDATION when the file is cut off or was changed. What was unfinished comes in as cancelled.
   */
  importRun(archive: AsyncIterable<Uint8Array>): Promise<Run>;

  /**
   * Tells what changes, from now on, until the signal ends it or the reader leaves. The first change is always
   * `unknown`: read then what you need to know, nothing is missed from there on. It comes again whenever something
   * may have been missed: the reader was slow, a connection was lost for long, another process wrote.
   *
   * @example
   * ```ts
   * for await (const change of store.watchChanges({ runId, kindIn: ['rollout'] })) {
   *   if (change.kind === 'unknown') show(await store.queryRollouts({ runId }));
   *   else if (change.kind === 'rollout') showOne(await store.getRollout(change.rolloutId));
   * }
   * ```
   */
  watchChanges(options?: WatchOptions): AsyncIterable<StoreChange>;
  statistics(): Promise<StoreStatistics>;
  /** Waits for what is under way and lets go of files and connections. */
  close(): Promise<void>;
}
