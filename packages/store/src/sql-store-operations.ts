import type { Attempt, JsonObject, Rollout, RolloutStatus, Run, Span, SpanInput } from '@agentlightning/core';
import { assertId, hasAttempt } from '@agentlightning/core/protocol';
import type { Feedback, FeedbackInput } from '@agentlightning/core/spans';
import {
  type AttemptedRollout,
  type AttemptPatch,
  type AttemptQuery,
  type ClaimOptions,
  type DeletionCounts,
  type EnqueueRolloutRequest,
  type FeedbackPage,
  type FeedbackQuery,
  type GroupQuery,
  type GroupStatistics,
  type MetricPoint,
  type MetricQuery,
  type NamedResources,
  newId,
  type Page,
  type ResourcesQuery,
  type ResourcesSnapshot,
  type RetentionPolicy,
  type RetentionPreview,
  type RolloutPatch,
  type RolloutQuery,
  type RolloutSearch,
  type RolloutSearchPage,
  type RolloutTrace,
  type RunPatch,
  type RunQuery,
  type RunStatistics,
  type SpanQuery,
  type SpanSearch,
  type SpanSearchPage,
  type StartRolloutRequest,
  type Worker,
  type WorkerQuery,
} from '@agentlightning/core/store';
import { AccessKeyOperations } from './operations/access/access-key-operations.ts';
import { assertRetentionPolicy } from './operations/apply-retention.ts';
import { assertClaimLimit, claimRollouts } from './operations/attempts/claim-rollouts.ts';
import { getLatestAttempt, queryAttempts } from './operations/attempts/read-attempts.ts';
import { updateAttempt } from './operations/attempts/update-attempt.ts';
import { countUnfinished } from './operations/count-rows.ts';
import { previewRetention } from './operations/preview-retention.ts';
import { findWorker, queryWorkers } from './operations/read-workers.ts';
import { closeOpenAttempts, openAttempt } from './operations/records/attempt-record.ts';
import { findLatestResources, loadResources, queryResources } from './operations/records/read-resources.ts';
import { loadRun, queryMetrics, queryRuns } from './operations/records/read-runs.ts';
import {
  findRollout,
  isQueued,
  loadRollout,
  moveRollout,
  reopenRollout,
  withAttempt,
} from './operations/records/rollout-record.ts';
import { lockRows } from './operations/records/row-lock.ts';
import { deleteRollouts } from './operations/rollouts/delete-rollouts.ts';
import { enqueueRollouts, insertRollout } from './operations/rollouts/enqueue-rollouts.ts';
import { getRollout, queryRollouts } from './operations/rollouts/read-rollouts.ts';
import { searchRollouts } from './operations/rollouts/search-rollouts.ts';
import { updateRollout } from './operations/rollouts/update-rollout.ts';
import { type CreateRunRequest, createRun } from './operations/runs/create-run.ts';
import { groupStatistics } from './operations/runs/read-group-statistics.ts';
import { runStatistics } from './operations/runs/run-statistics.ts';
import { updateRun } from './operations/runs/update-run.ts';
import { appendSpans, reserveSpanSequenceIds } from './operations/spans/append-spans.ts';
import { queryFeedback, recordFeedback } from './operations/spans/feedback.ts';
import { querySpans } from './operations/spans/read-spans.ts';
import { readTraces } from './operations/spans/read-traces.ts';
import { recordTraces } from './operations/spans/record-traces.ts';
import { searchSpans } from './operations/spans/search-spans.ts';
import { updateWorker } from './operations/update-worker.ts';
import { collectPages, readPages, type StreamedPage } from './sql/list-pages.ts';
import { lenientRunner, type OperationContext, type OperationRunner } from './sql/operation-runner.ts';
import { toJson } from './sql/row-value.ts';
import type { StoreTransaction } from './sql/store-transaction.ts';

/** The operations of a store. The runner provides the transactions. */
export class SqlStoreOperations extends AccessKeyOperations implements StoreTransaction {
  /** Lease of a claimed attempt in milliseconds. */
  protected readonly claimLeaseMs: number;

  constructor(runner: OperationRunner, claimLeaseMs: number) {
    super(runner);
    this.claimLeaseMs = claimLeaseMs;
  }

  /** The same operations with the semantics of the Agent Lightning 0.3 protocol where the store is stricter. */
  lenient(): SqlStoreOperations {
    return new SqlStoreOperations(lenientRunner(this.runner), this.claimLeaseMs);
  }

  enqueueRollouts(requests: readonly EnqueueRolloutRequest[]): Promise<readonly Rollout[]> {
    return this.runner.write((context) => enqueueRollouts(context, requests));
  }

  startRollout(request: StartRolloutRequest): Promise<AttemptedRollout> {
    return this.runner.write((context) => startRollout(context, request));
  }

  /** Claims queued rollouts without waiting. */
  async claimRollouts(options: ClaimOptions = {}): Promise<readonly AttemptedRollout[]> {
    const { workerId = null, limit = 1, runId = null } = options;
    assertClaimLimit(limit);
    const { claimLeaseMs } = this;
    return this.runner.write((context) => claimRollouts(context, { workerId, limit, runId, claimLeaseMs }));
  }

  startAttempt(rolloutId: string, workerId: string | null = null): Promise<AttemptedRollout> {
    return this.runner.write((context) => startAttempt(context, rolloutId, workerId));
  }

  getRollout(rolloutId: string): Promise<Rollout | AttemptedRollout> {
    return this.runner.read((context) => getRollout(context, rolloutId));
  }

  queryRollouts(query: RolloutQuery = {}): Promise<Page<Rollout | AttemptedRollout>> {
    return collectPages(this.streamRollouts(query));
  }

  /** As `queryRollouts`, page by page. */
  streamRollouts(query: RolloutQuery = {}): AsyncIterable<StreamedPage<Rollout | AttemptedRollout>> {
    return readPages(query, (window) => this.runner.read((context) => queryRollouts(context, query, window)));
  }

  updateRollout(rolloutId: string, patch: RolloutPatch): Promise<Rollout> {
    return this.runner.write((context) => updateRollout(context, rolloutId, patch));
  }

  queryAttempts(rolloutId: string, query: AttemptQuery = {}): Promise<Page<Attempt>> {
    return collectPages(this.streamAttempts(rolloutId, query));
  }

  /** As `queryAttempts`, page by page. */
  streamAttempts(rolloutId: string, query: AttemptQuery = {}): AsyncIterable<StreamedPage<Attempt>> {
    const list = { rolloutId, query };
    return readPages(query, (window) => this.runner.read((context) => queryAttempts(context, list, window)));
  }

  getLatestAttempt(rolloutId: string): Promise<Attempt | null> {
    return this.runner.read((context) => getLatestAttempt(context, rolloutId));
  }

  updateAttempt(rolloutId: string, attemptId: string, patch: AttemptPatch): Promise<Attempt> {
    return this.runner.write((context) => updateAttempt(context, { rolloutId, attemptId, patch }));
  }

  async appendSpans(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    if (spans.length === 0) return [];
    return this.runner.write((context) => appendSpans(context, spans));
  }

  async recordTraces(deployment: string, spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    if (spans.length === 0) return [];
    return this.runner.write((context) => recordTraces(context, deployment, spans));
  }

  recordFeedback(feedback: FeedbackInput): Promise<Feedback> {
    return this.runner.write((context) => recordFeedback(context, feedback));
  }

  queryFeedback(query: FeedbackQuery = {}): Promise<FeedbackPage> {
    return this.runner.read((context) => queryFeedback(context, query));
  }

  nextSpanSequenceIds(
    attempts: readonly { readonly rolloutId: string; readonly attemptId: string }[],
  ): Promise<readonly number[]> {
    return this.runner.write((context) => reserveSpanSequenceIds(context, attempts));
  }

  querySpans(query: SpanQuery): Promise<Page<Span>> {
    return collectPages(this.streamSpans(query));
  }

  /** As `querySpans`, page by page. */
  streamSpans(query: SpanQuery): AsyncIterable<StreamedPage<Span>> {
    return readPages(query, (window) => this.runner.read((context) => querySpans(context, query, window)));
  }

  async readTraces(rolloutIds: readonly string[]): Promise<readonly RolloutTrace[]> {
    return this.runner.read((context) => readTraces(context, rolloutIds));
  }

  searchSpans(search: SpanSearch = {}): Promise<SpanSearchPage> {
    return this.runner.read((context) => searchSpans(context, search));
  }

  searchRollouts(search: RolloutSearch = {}): Promise<RolloutSearchPage> {
    return this.runner.read((context) => searchRollouts(context, search));
  }

  addResources(resources: NamedResources): Promise<ResourcesSnapshot> {
    return this.runner.write((context) => publishResources(context, resources));
  }

  updateResources(resourcesId: string, resources: NamedResources): Promise<ResourcesSnapshot> {
    return this.runner.write((context) => publishResources(context, resources, resourcesId));
  }

  getResources(resourcesId: string): Promise<ResourcesSnapshot> {
    return this.runner.read((context) => loadResources(context, resourcesId));
  }

  getLatestResources(): Promise<ResourcesSnapshot | null> {
    return this.runner.read((context) => findLatestResources(context));
  }

  queryResources(query: ResourcesQuery = {}): Promise<Page<ResourcesSnapshot>> {
    return collectPages(this.streamResources(query));
  }

  /** As `queryResources`, page by page. */
  streamResources(query: ResourcesQuery = {}): AsyncIterable<StreamedPage<ResourcesSnapshot>> {
    return readPages(query, (window) => this.runner.read((context) => queryResources(context, query, window)));
  }

  updateWorker(workerId: string, heartbeatStats: JsonObject | null = null): Promise<Worker> {
    return this.runner.write((context) => updateWorker(context, workerId, heartbeatStats));
  }

  getWorker(workerId: string): Promise<Worker | null> {
    return this.runner.read((context) => findWorker(context, workerId));
  }

  queryWorkers(query: WorkerQuery = {}): Promise<Page<Worker>> {
    return collectPages(this.streamWorkers(query));
  }

  /** As `queryWorkers`, page by page. */
  streamWorkers(query: WorkerQuery = {}): AsyncIterable<StreamedPage<Worker>> {
    return readPages(query, (window) => this.runner.read((context) => queryWorkers(context, query, window)));
  }

  createRun(run: CreateRunRequest): Promise<Run> {
    return this.runner.write((context) => createRun(context, run));
  }

  getRun(runId: string): Promise<Run> {
    return this.runner.read((context) => loadRun(context, runId));
  }

  queryRuns(query: RunQuery = {}): Promise<Page<Run>> {
    return collectPages(this.streamRuns(query));
  }

  /** As `queryRuns`, page by page. */
  streamRuns(query: RunQuery = {}): AsyncIterable<StreamedPage<Run>> {
    return readPages(query, (window) => this.runner.read((context) => queryRuns(context, query, window)));
  }

  updateRun(runId: string, patch: RunPatch, metrics: readonly MetricPoint[] = []): Promise<Run> {
    return this.runner.write((context) => updateRun(context, { runId, patch, metrics }));
  }

  queryMetrics(runId: string, query: MetricQuery = {}): Promise<Page<MetricPoint>> {
    return collectPages(this.streamMetrics(runId, query));
  }

  /** As `queryMetrics`, page by page. */
  streamMetrics(runId: string, query: MetricQuery = {}): AsyncIterable<StreamedPage<MetricPoint>> {
    const list = { runId, query };
    return readPages(query, (window) => this.runner.read((context) => queryMetrics(context, list, window)));
  }

  runStatistics(runId: string): Promise<RunStatistics> {
    return this.runner.read((context) => runStatistics(context, runId));
  }

  groupStatistics(runId: string, query: GroupQuery = {}): Promise<readonly GroupStatistics[]> {
    return this.runner.read((context) => groupStatistics(context, runId, query));
  }

  async previewRetention(policy: RetentionPolicy): Promise<RetentionPreview> {
    assertRetentionPolicy(policy);
    return this.runner.read((context) => previewRetention(context, policy));
  }

  /** Number of rollouts per non-terminal status. Its cost is independent of the number of finished rollouts. */
  countUnfinished(): Promise<ReadonlyMap<RolloutStatus, number>> {
    return this.runner.read(countUnfinished);
  }

  async deleteRollouts(rolloutIds: readonly string[]): Promise<DeletionCounts> {
    return this.runner.write((context) => deleteRollouts(context, rolloutIds));
  }
}

/** Starts a rollout without the queue; a rollout that already has an attempt is left unchanged. */
async function startRollout(context: OperationContext, request: StartRolloutRequest): Promise<AttemptedRollout> {
  const workerId = request.workerId ?? null;
  if (request.rolloutId !== undefined) await lockRows(context, 'rollouts', [request.rolloutId]);
  const known = request.rolloutId === undefined ? null : await findRollout(context, request.rolloutId);
  if (known !== null) {
    return hasAttempt(known) ? known : await startAttempt(context, known.rolloutId, workerId);
  }
  const rollout = await insertRollout(context, request, 'preparing');
  return withAttempt(rollout, await openAttempt(context, rollout.rolloutId, { workerId, claimLeaseMs: null }));
}

/**
 * Opens another attempt explicitly. A previously open attempt becomes unresponsive.
 *
 * @throws IllegalTransitionError when the rollout has succeeded, unless the client uses the 0.3 protocol
 */
async function startAttempt(
  context: OperationContext,
  rolloutId: string,
  workerId: string | null,
): Promise<AttemptedRollout> {
  const record = await loadRollout(context, rolloutId);
  await closeOpenAttempts(context, record, { to: 'unresponsive', isCounted: false, isGivenBack: true });
  const rollout = await moveToPreparing(context, record.rollout);
  return withAttempt(rollout, await openAttempt(context, rolloutId, { workerId, claimLeaseMs: null }));
}

/** A retry is requeued within this transaction, as the state machine requires. */
async function moveToPreparing(context: OperationContext, rollout: Rollout): Promise<Rollout> {
  if (context.isLenient === true && rollout.status === 'succeeded') return await reopenRollout(context, rollout);
  const queued = isQueued(rollout.status) ? rollout : await moveRollout(context, rollout, 'requeuing');
  return await moveRollout(context, queued, 'preparing');
}

/** Writes the first or next version of a snapshot and makes it the latest; without an id, creates a snapshot. */
async function publishResources(
  context: OperationContext,
  resources: NamedResources,
  resourcesId: string = newId('resources'),
): Promise<ResourcesSnapshot> {
  assertId('resourcesId', resourcesId);
  await context.db.run(
    `INSERT INTO resources (resources_id, revision, version, resources, create_time_ms, update_time_ms)
     VALUES (?, (SELECT coalesce(max(revision), 0) + 1 FROM resources), 1, ?, ?, ?)
     ON CONFLICT (resources_id) DO UPDATE SET revision = excluded.revision, version = resources.version + 1,
       resources = excluded.resources, update_time_ms = excluded.update_time_ms`,
    [resourcesId, toJson(resources, `Resources ${resourcesId}`), context.nowMs, context.nowMs],
  );
  const snapshot = await loadResources(context, resourcesId);
  context.changes.record({ kind: 'resources', resourcesId, version: snapshot.version });
  return snapshot;
}
