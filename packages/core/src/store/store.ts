import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Feedback, FeedbackInput } from '../spans/feedback.ts';
import type { RolloutMode } from '../spans/model-call.ts';
import type { Span, SpanInput } from '../spans/span.ts';
import type { Attempt, AttemptStatus, RolloutTrace } from './attempt.ts';
import type {
  AttemptQuery,
  FeedbackPage,
  FeedbackQuery,
  MetricQuery,
  Page,
  ResourcesQuery,
  RolloutQuery,
  RunQuery,
  SpanQuery,
  WorkerQuery,
} from './queries.ts';
import type { NamedResources, ResourcesSnapshot } from './resource.ts';
import type { DeletionCounts, RetentionPolicy, RetentionPreview } from './retention.ts';
import type {
  AttemptedRollout,
  EnqueueRolloutRequest,
  Rollout,
  RolloutConfig,
  StartRolloutRequest,
} from './rollout.ts';
import type { RolloutSearch, RolloutSearchPage } from './rollout-search.ts';
import type { RolloutStatus } from './rollout-status.ts';
import type { MetricPoint, Run, RunStatistics, RunStatus } from './run.ts';
import type { SpanSearch, SpanSearchPage } from './span-search.ts';
import type { StoreChange, WatchOptions } from './store-change.ts';
import type { GroupQuery, GroupStatistics, StoreStatistics } from './store-statistics.ts';
import type { Worker } from './worker.ts';

/** Options of a claim. */
export interface ClaimOptions {
  /** The worker that claims. */
  readonly workerId?: string | null;
  /** Maximum number of rollouts. @default 1 */
  readonly limit?: number;
  /** Only rollouts of this run. @default any */
  readonly runId?: string;
  /** Maximum wait for the first rollout when the queue is empty, in milliseconds. @default 0 */
  readonly waitMs?: number;
  /** Ends the wait early; the claim then returns no rollouts. */
  readonly signal?: AbortSignal;
}

/** Options of a wait for rollouts to finish. */
export interface WaitOptions {
  /** In milliseconds; 0 does not wait. @default Infinity */
  readonly timeoutMs?: number;
  /** Ends the wait early; it then returns the finished rollouts. */
  readonly signal?: AbortSignal;
}

/** Changes to a rollout. An absent field is unchanged; null is written. */
export interface RolloutPatch {
  /** The task. */
  readonly input?: JsonValue;
  /** The purpose. */
  readonly mode?: RolloutMode | null;
  /** Snapshot of the resources. */
  readonly resourcesId?: string | null;
  /** State of the rollout. */
  readonly status?: RolloutStatus;
  /** Timeouts and retries. */
  readonly config?: RolloutConfig;
  /** Metadata. */
  readonly metadata?: JsonObject | null;
}

/** Changes to an attempt. An absent field is unchanged. */
export interface AttemptPatch {
  /** State of the attempt. */
  readonly status?: AttemptStatus;
  /** An empty id clears it. */
  readonly workerId?: string;
  /** Time of the last heartbeat, in Unix milliseconds. */
  readonly lastHeartbeatTimeMs?: number;
  /** Metadata. */
  readonly metadata?: JsonObject;
}

/** Changes to a run. An absent field is unchanged. */
export interface RunPatch {
  /** State of the run. */
  readonly status?: RunStatus;
  /** State of the training. */
  readonly state?: JsonObject;
}

/**
 * The store of tasks, rollouts, spans, resources and runs, shared by trainer, runners, gateway and agents.
 *
 * Invariants, maintained by every backend and checked by the contract suite:
 * - **Durability.** Acknowledged writes survive a crash of the process.
 * - **Queue.** First in, first out. Every queued rollout is claimed by exactly one worker. A rollout
 *   that becomes `queuing` or `requeuing` is in the queue exactly once. Cancelling removes it.
 * - **State machine.** Statuses change only as `rolloutTransitions` permits; final ones can only be
 *   reopened by writing `requeuing`. Only the latest attempt changes its rollout's status. A late write to
 *   a finished rollout changes the attempt, never the rollout's status.
 * - **Leases.** A claimed attempt without a heartbeat becomes `unresponsive` after the store's claim lease, and its
 *   rollout returns to the queue without consuming one of its `maxAttempts`. A rollout that exceeds the store's limit
 *   of lost claims fails, with the reason in its metadata and its attempt's, under `lostClaimsReasonKey`. The attempts of a
 *   worker whose lease (`workerLeaseKey`) has expired end likewise; spans do not reopen them, and time limits after its
 *   last heartbeat have no effect. A watchdog enforces leases and the limits of `RolloutConfig` without requiring traffic.
 * - **Spans.** Sequence ids are assigned per rollout, from 1, without gaps under concurrency; an explicit one
 *   raises the counter to at least itself. An existing span, by attempt and span id, is not
 *   changed. The first span of an attempt makes it `running`, unless its rollout has been
 *   requeued since; every span is a heartbeat.
 * - **Deletion.** A rollout is deleted with its attempts and spans. A wait for a deleted rollout
 *   fails with NOT_FOUND. Unfinished rollouts and active runs are deleted only with `force`.
 * - **Resources.** Every update increments the version; the last written one is the latest.
 *
 * Errors: NOT_FOUND for unknown ids, ILLEGAL_TRANSITION, VALIDATION for invalid limits and fields,
 * QUOTA_EXCEEDED for spans above a quota of their attempt, STORE_FULL, and UNREACHABLE for a store behind HTTP.
 */
export interface Store extends RevokedTokens {
  /** Enqueues rollouts atomically; existing ids return the existing rollouts unchanged. */
  enqueueRollouts(requests: readonly EnqueueRolloutRequest[]): Promise<readonly Rollout[]>;
  /** Starts a rollout with its first attempt, bypassing the queue. */
  startRollout(request: StartRolloutRequest): Promise<AttemptedRollout>;
  /** Claims rollouts from the queue and opens an attempt for each. */
  claimRollouts(options?: ClaimOptions): Promise<readonly AttemptedRollout[]>;
  /** Opens another attempt regardless of the rollout's `maxAttempts`; an open one is closed as `unresponsive`. */
  startAttempt(rolloutId: string, workerId?: string | null): Promise<AttemptedRollout>;
  /** With the latest attempt, if there is one. Throws NOT_FOUND for an unknown id. */
  getRollout(rolloutId: string): Promise<Rollout | AttemptedRollout>;
  /** Each with its latest attempt, if it has one; in creation order by default. */
  queryRollouts(query?: RolloutQuery): Promise<Page<Rollout | AttemptedRollout>>;
  /** Finds rollouts by text, reward and other fields, with their rewards. */
  searchRollouts(search?: RolloutSearch): Promise<RolloutSearchPage>;
  /**
   * Changes a rollout. Writing `queuing` or `requeuing` closes its open attempts as `unresponsive`, which do not count
   * towards `maxAttempts`, even if they fail later; writing a final status closes them as `succeeded` or `failed`.
   */
  updateRollout(rolloutId: string, patch: RolloutPatch): Promise<Rollout>;
  /** Resolves with the finished rollouts: all of them, or fewer when the wait ended early. */
  waitForRollouts(rolloutIds: readonly string[], options?: WaitOptions): Promise<readonly Rollout[]>;

  /** The attempts of a rollout. */
  queryAttempts(rolloutId: string, query?: AttemptQuery): Promise<Page<Attempt>>;
  /** The latest attempt of a rollout; null before the first. */
  getLatestAttempt(rolloutId: string): Promise<Attempt | null>;
  /** `latest` is the id of the latest attempt. */
  updateAttempt(rolloutId: string, attemptId: string, patch: AttemptPatch): Promise<Attempt>;

  /** Records spans in one transaction. Null for a span that already exists. */
  appendSpans(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]>;
  /** Reserves the next sequence id of each attempt's rollout, in order. */
  nextSpanSequenceIds(
    attempts: readonly { readonly rolloutId: string; readonly attemptId: string }[],
  ): Promise<readonly number[]>;
  /**
   * Records spans of production in one transaction. Their rollouts, each of them a trace, belong to the deployment: a run of the
   * kind `deployment`, which the first trace creates. They have the mode `production`, are finished from their first span on,
   * and are never claimed; spans that arrive later join them. Null for a span that already exists. CONFLICT for a rollout that
   * is not in the deployment; then none is recorded.
   *
   * @param deployment - the run's id, such as `support-agent`; CONFLICT when it is a run of another kind
   */
  recordTraces(deployment: string, spans: readonly SpanInput[]): Promise<readonly (Span | null)[]>;
  /**
   * Records feedback on a finished rollout; its score is the reward of the rollout. Repeated feedback with the same id is
   * recorded once, and the first record is returned. NOT_FOUND for an unknown or deleted rollout, CONFLICT for an unfinished one.
   */
  recordFeedback(feedback: FeedbackInput): Promise<Feedback>;
  /** Finds feedback by run or rollout, in the order of the rollouts. Throws NOT_FOUND for an unknown run. */
  queryFeedback(query?: FeedbackQuery): Promise<FeedbackPage>;
  /** The spans of a rollout. */
  querySpans(query: SpanQuery): Promise<Page<Span>>;
  /**
   * Reads the traces of rollouts, in the order of the ids: those of the first ids whose spans have about one MiB in total,
   * at least one. Call it again for the rest.
   *
   * @param rolloutIds - at most 1,000; NOT_FOUND when one of those read does not exist
   */
  readTraces(rolloutIds: readonly string[]): Promise<readonly RolloutTrace[]>;
  /** Finds spans across rollouts. Throws NOT_FOUND for an unknown run. */
  searchSpans(search?: SpanSearch): Promise<SpanSearchPage>;

  /** Adds a snapshot under a new id. */
  addResources(resources: NamedResources): Promise<ResourcesSnapshot>;
  /** Writes the next version of a snapshot, or its first. */
  updateResources(resourcesId: string, resources: NamedResources): Promise<ResourcesSnapshot>;
  /** A snapshot of resources. */
  getResources(resourcesId: string): Promise<ResourcesSnapshot>;
  /** Null without any resources. */
  getLatestResources(): Promise<ResourcesSnapshot | null>;
  /** The snapshots of resources. */
  queryResources(query?: ResourcesQuery): Promise<Page<ResourcesSnapshot>>;

  /** Records a heartbeat of a worker; without statistics, the previous ones are kept. */
  updateWorker(workerId: string, heartbeatStats?: JsonObject): Promise<Worker>;
  /** Null for an unknown worker. */
  getWorker(workerId: string): Promise<Worker | null>;
  /** The workers. */
  queryWorkers(query?: WorkerQuery): Promise<Page<Worker>>;

  /** Creates a run; CONFLICT when the id exists. */
  createRun(run: { readonly runId: string; readonly name: string; readonly config: JsonObject }): Promise<Run>;
  /** A run. */
  getRun(runId: string): Promise<Run>;
  /** Newest first. */
  queryRuns(query?: RunQuery): Promise<Page<Run>>;
  /** Changes a run and records the metrics of a step in one transaction. */
  updateRun(runId: string, patch: RunPatch, metrics?: readonly MetricPoint[]): Promise<Run>;
  /** In order of step by default; a later record of a step replaces the earlier one. */
  queryMetrics(runId: string, query?: MetricQuery): Promise<Page<MetricPoint>>;
  /** Progress of the rollouts of a run; `queryRollouts({ runId })` lists them. */
  runStatistics(runId: string): Promise<RunStatistics>;
  /** The training rollouts of a run by step and task, in this order. Rollouts without both are not among them. */
  groupStatistics(runId: string, query?: GroupQuery): Promise<readonly GroupStatistics[]>;

  /** Deletes finished rollouts atomically; CONFLICT when one of them is unfinished. */
  deleteRollouts(rolloutIds: readonly string[]): Promise<DeletionCounts>;
  /**
   * Deletes a run with its rollouts and metrics; CONFLICT when it is active or has unfinished rollouts, unless forced.
   * Deletes in batches; repeat the call to complete an interrupted deletion.
   */
  deleteRun(runId: string, options?: { readonly force?: boolean }): Promise<DeletionCounts>;
  /** Deletes data by a policy, in batches, which lets other operations proceed. */
  applyRetention(policy: RetentionPolicy): Promise<DeletionCounts>;
  /** Counts the records that {@link applyRetention} would delete now. */
  previewRetention(policy: RetentionPolicy): Promise<RetentionPreview>;
  /**
   * Exports a run as one file: state, metrics, resources, rollouts, attempts and spans, as gzipped JSON lines (see the
   * manual of the store). Read in batches; each rollout is a consistent snapshot.
   */
  exportRun(runId: string): AsyncIterable<Uint8Array>;
  /**
   * Imports an exported run atomically; CONFLICT when the run or one of its rollouts exists, VALIDATION when the file
   * is truncated or was modified. Unfinished rollouts become cancelled.
   */
  importRun(archive: AsyncIterable<Uint8Array>): Promise<Run>;

  /**
   * Streams changes until the signal aborts or the iteration ends. The first change is always `unknown`: state read
   * after it is complete up to the following changes. `unknown` is repeated whenever changes may have been missed:
   * after a slow reader, a long disconnection, or a write by another process.
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
  /** Counts of the records in the store. */
  statistics(): Promise<StoreStatistics>;
  /** Completes pending operations and releases files and connections. */
  close(): Promise<void>;
}

/** The revoked attempt tokens of a store. */
export interface RevokedTokens {
  /**
   * Revokes one attempt token; store servers and gateways refuse it within five seconds. VALIDATION for a text that has
   * not the form of a token.
   */
  revokeAttemptToken(token: string): Promise<void>;
  /** SHA-256 digests, in hex digits, of the revoked attempt tokens that have not expired. */
  revokedAttemptTokens(): Promise<readonly string[]>;
}
