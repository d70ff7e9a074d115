import * as z from 'zod';
import { maxTraceRollouts, type RolloutTrace } from '../../store/attempt.ts';
import type { FoundRollout, RolloutSearch, RolloutSearchPage } from '../../store/rollout-search.ts';
import type { GroupQuery, GroupStatistics } from '../../store/store-statistics.ts';
import { attemptCodec, attemptPatchCodec, attemptStartCodec } from '../wire/wire-attempt.ts';
import { revokedAttemptTokensCodec } from '../wire/wire-attempt-token.ts';
import {
  deletionCountsCodec,
  retentionPolicyCodec,
  retentionPreviewCodec,
  rolloutDeletionCodec,
  runDeletionCodec,
} from '../wire/wire-deletion.ts';
import { feedbackCodec, feedbackInputCodec, feedbackPageCodec, feedbackQueryCodec } from '../wire/wire-feedback.ts';
import { fieldCodec, optionsCodec, recordCodec, seconds } from '../wire/wire-fields.ts';
import {
  attemptQueryCodec,
  resourcesQueryCodec,
  rolloutFilterFields,
  rolloutQueryCodec,
  spanQueryCodec,
  spanSearchCodec,
  spanSearchPageCodec,
  workerQueryCodec,
} from '../wire/wire-query.ts';
import { namedResourcesCodec, resourcesSnapshotCodec } from '../wire/wire-resources.ts';
import { attemptedRolloutCodec, rolloutCodec } from '../wire/wire-rollout.ts';
import { enqueueCodec, rolloutPatchCodec, rolloutRequestCodec } from '../wire/wire-rollout-request.ts';
import {
  metricPointCodec,
  metricQueryCodec,
  runCodec,
  runQueryCodec,
  runRequestCodec,
  runStatisticsCodec,
  runUpdateCodec,
  statisticsCodec,
} from '../wire/wire-run.ts';
import { sequenceIdBatchCodec, sequenceIdsCodec, spanBatchCodec, spanCodec } from '../wire/wire-span.ts';
import { workerCodec, workerHeartbeatCodec } from '../wire/wire-worker.ts';
import { get, list, maxBatchItems, type OperationName, type OperationRoute, original, post } from './store-route.ts';

/** The rollouts whose traces are read, in one object. */
const traceQueryCodec: z.ZodType<readonly string[]> = fieldCodec(
  'rollout_ids',
  z.array(z.string()).min(1).max(maxTraceRollouts),
);

const traceCodec: z.ZodType<RolloutTrace> = recordCodec<RolloutTrace>({
  rolloutId: ['rollout_id', z.string()],
  attempt: ['attempt', attemptCodec.nullable()],
  spans: ['spans', z.array(spanCodec)],
});

/** The traces of the first of the rollouts, in one object. */
const tracesCodec: z.ZodType<readonly RolloutTrace[]> = fieldCodec('items', z.array(traceCodec));

/** Rollout filters with text and rewards, an extension of the Agent Lightning 0.3 protocol. */
const rolloutSearchCodec: z.ZodType<RolloutSearch> = optionsCodec<RolloutSearch>({
  ...rolloutFilterFields,
  text: ['text', z.string().nullish()],
  minReward: ['min_reward', z.number().nullish()],
  maxReward: ['max_reward', z.number().nullish()],
  label: ['label', z.enum(['good', 'bad', 'none', 'any']).nullish()],
  sortBy: ['sort_by', z.enum(['creation', 'reward']).nullish()],
  sortOrder: ['sort_order', z.enum(['asc', 'desc']).nullish()],
  limit: ['limit', z.number().nullish()],
  cursor: ['cursor', z.string().nullish()],
});

const foundRolloutCodec: z.ZodType<FoundRollout> = recordCodec<FoundRollout>({
  rollout: ['rollout', rolloutCodec],
  reward: ['reward', z.number().nullable()],
  label: ['label', z.enum(['good', 'bad']).nullable()],
});

/** One page of found rollouts. */
const rolloutSearchPageCodec: z.ZodType<RolloutSearchPage> = recordCodec<RolloutSearchPage>({
  items: ['items', z.array(foundRolloutCodec)],
  nextCursor: ['next_cursor', z.string().nullable()],
  total: ['total', z.number()],
  unindexed: ['unindexed', z.number()],
});

/** Filters of groups, as URL parameters. */
const groupQueryCodec: z.ZodType<GroupQuery> = optionsCodec<GroupQuery>({
  startTimeFromMs: ['start_time_from', seconds.optional()],
});

/** Groups of rollouts, in one object. */
const groupsCodec: z.ZodType<readonly GroupStatistics[]> = fieldCodec(
  'items',
  z.array(
    recordCodec<GroupStatistics>({
      step: ['step', z.int()],
      taskIndex: ['task_index', z.int()],
      rollouts: ['rollouts', z.int()],
      failed: ['failed', z.int()],
      meanReward: ['mean_reward', z.number().nullable()],
      minReward: ['min_reward', z.number().nullable()],
      maxReward: ['max_reward', z.number().nullable()],
      firstStartTimeMs: ['first_start_time', seconds],
      lastStartTimeMs: ['last_start_time', seconds],
      rolloutId: ['rollout_id', z.string()],
    }),
  ),
);

/** Deletions run in batches. */
const deletionWaitMs = 600_000;

/** The routes of the operations of a store, by name. */
export const operationRoutes: { readonly [TName in OperationName]: OperationRoute<TName> } = {
  statistics: {
    ...original.get('/statistics', 'project:read'),
    summary: 'Count rows by table',
    response: statisticsCodec,
  },

  enqueueRollouts: {
    ...original.post('/queues/rollouts/enqueue', 'project:write'),
    summary: 'Enqueue up to 1000 rollouts atomically',
    body: enqueueCodec,
    maxItems: maxBatchItems,
    response: z.array(rolloutCodec),
    status: 201,
    idempotency: 'inherent',
  },
  // Starts a rollout without the queue: runners for a single task, gateways for calls without a rollout.
  startRollout: {
    ...original.post('/rollouts', 'work:write'),
    summary: 'Start a rollout without the queue',
    body: rolloutRequestCodec,
    response: attemptedRolloutCodec,
    status: 201,
    idempotency: 'inherent',
  },
  queryRollouts: {
    ...original.post('/rollouts/search', 'project:read'),
    summary: 'List rollouts',
    body: rolloutQueryCodec,
    ...list(rolloutCodec),
  },
  searchRollouts: {
    ...post('/searches/rollouts', 'project:read'),
    summary: 'Search rollouts by text, reward and other fields',
    body: rolloutSearchCodec,
    response: rolloutSearchPageCodec,
  },
  getRollout: {
    ...original.get('/rollouts/:rolloutId', 'attempt:read'),
    summary: 'Read a rollout, with its latest attempt',
    response: rolloutCodec,
  },
  // Runners return rollouts to the queue.
  updateRollout: {
    ...original.post('/rollouts/:rolloutId', 'work:write'),
    summary: 'Update a rollout',
    body: rolloutPatchCodec,
    notNull: ['status', 'config'],
    response: rolloutCodec,
    idempotency: 'key',
  },

  startAttempt: {
    ...original.post('/rollouts/:rolloutId/attempts', 'project:write'),
    summary: 'Start another attempt',
    body: attemptStartCodec,
    isBodyOptional: true,
    response: attemptedRolloutCodec,
    status: 201,
    idempotency: 'key',
  },
  queryAttempts: {
    ...original.post('/rollouts/:rolloutId/attempts/search', 'work:read'),
    summary: 'List attempts',
    body: attemptQueryCodec,
    ...list(attemptCodec),
  },
  getLatestAttempt: {
    ...original.get('/rollouts/:rolloutId/attempts/latest', 'attempt:read'),
    summary: 'Read the latest attempt; null if none exists',
    response: attemptCodec.nullable(),
  },
  updateAttempt: {
    ...original.post('/rollouts/:rolloutId/attempts/:attemptId', 'work:write'),
    summary: 'Update an attempt; the id `latest` refers to the latest one',
    body: attemptPatchCodec,
    notNull: ['status', 'worker_id', 'last_heartbeat_time', 'metadata'],
    response: attemptCodec,
    idempotency: 'key',
  },
  revokedAttemptTokens: {
    ...get('/revocations/tokens', 'work:read'),
    summary: 'SHA-256 digests of the revoked attempt tokens that have not expired',
    response: revokedAttemptTokensCodec,
  },

  queryWorkers: {
    ...original.post('/workers/search', 'project:read'),
    summary: 'List workers',
    body: workerQueryCodec,
    ...list(workerCodec),
  },
  getWorker: {
    ...original.get('/workers/:workerId', 'work:read'),
    summary: 'Read a worker; null if it does not exist',
    response: workerCodec.nullable(),
  },
  updateWorker: {
    ...original.post('/workers/:workerId', 'work:write'),
    summary: 'Record a heartbeat of a worker',
    body: workerHeartbeatCodec,
    isBodyOptional: true,
    notNull: ['heartbeat_stats'],
    response: workerCodec,
  },

  queryResources: {
    ...original.get('/resources', 'work:read'),
    summary: 'List resources',
    query: resourcesQueryCodec,
    ...list(resourcesSnapshotCodec),
  },
  addResources: {
    ...original.post('/resources', 'project:write'),
    summary: 'Add resources under a new id',
    body: namedResourcesCodec,
    response: resourcesSnapshotCodec,
    status: 201,
    idempotency: 'key',
  },
  getLatestResources: {
    ...original.get('/resources/latest', 'work:read'),
    summary: 'Read the latest resources; null if none exist',
    response: resourcesSnapshotCodec.nullable(),
  },
  updateResources: {
    ...original.post('/resources/:resourcesId', 'project:write'),
    summary: 'Write the next or first version of resources',
    body: namedResourcesCodec,
    response: resourcesSnapshotCodec,
    idempotency: 'key',
  },

  querySpans: {
    ...original.post('/spans/search', 'work:read'),
    summary: 'List spans of a rollout',
    body: spanQueryCodec,
    ...list(spanCodec),
  },
  recordTraces: {
    ...post('/deployments/:deployment/traces', 'traces:write'),
    summary: 'Record up to 1000 spans of production in a deployment; null for existing ones',
    body: spanBatchCodec,
    maxItems: maxBatchItems,
    response: z.array(spanCodec.nullable()),
    status: 201,
    idempotency: 'inherent',
  },
  recordFeedback: {
    ...post('/feedback', 'feedback:write'),
    summary: 'Record feedback on a finished rollout; repeated feedback with the same id is recorded once',
    body: feedbackInputCodec,
    notNull: ['rollout_id'],
    response: feedbackCodec,
    status: 201,
    idempotency: 'inherent',
  },
  queryFeedback: {
    ...get('/feedback', 'project:read'),
    summary: 'Find feedback by run or rollout',
    query: feedbackQueryCodec,
    response: feedbackPageCodec,
  },
  nextSpanSequenceIds: {
    ...post('/spans/next/batch', 'attempt:write'),
    summary: 'Reserve many sequence ids',
    body: sequenceIdBatchCodec,
    maxItems: maxBatchItems,
    response: sequenceIdsCodec,
    idempotency: 'key',
  },
  readTraces: {
    ...post('/searches/traces', 'project:read'),
    summary: 'Read the latest attempts of rollouts with their spans, up to about one MiB',
    body: traceQueryCodec,
    response: tracesCodec,
  },
  searchSpans: {
    ...post('/searches/spans', 'project:read'),
    summary: 'Search spans across rollouts',
    body: spanSearchCodec,
    response: spanSearchPageCodec,
  },

  queryRuns: {
    ...get('/runs', 'project:read'),
    summary: 'List runs, newest first',
    query: runQueryCodec,
    ...list(runCodec),
  },
  createRun: {
    ...post('/runs', 'project:write'),
    summary: 'Create a run',
    body: runRequestCodec,
    response: runCodec,
    status: 201,
    idempotency: 'key',
  },
  getRun: {
    ...get('/runs/:runId', 'project:read'),
    summary: 'Read a run',
    response: runCodec,
  },
  updateRun: {
    ...post('/runs/:runId', 'project:write'),
    summary: 'Update a run and record metrics',
    body: runUpdateCodec,
    maxItems: maxBatchItems,
    isSpread: true,
    response: runCodec,
    idempotency: 'inherent',
  },
  queryMetrics: {
    ...get('/runs/:runId/metrics', 'project:read'),
    summary: 'Read the metrics of a run by step',
    query: metricQueryCodec,
    ...list(metricPointCodec),
  },
  runStatistics: {
    ...get('/runs/:runId/statistics', 'project:read'),
    summary: 'Count the rollouts of a run by status',
    response: runStatisticsCodec,
  },
  groupStatistics: {
    ...get('/runs/:runId/groups', 'project:read'),
    summary: 'Summarise the training rollouts of a run by step and task',
    query: groupQueryCodec,
    response: groupsCodec,
  },

  deleteRollouts: {
    ...post('/deletions/rollouts', 'admin'),
    summary: 'Delete finished rollouts',
    body: rolloutDeletionCodec,
    waitMs: deletionWaitMs,
    response: deletionCountsCodec,
    idempotency: 'key',
  },
  deleteRun: {
    ...post('/deletions/runs', 'admin'),
    summary: 'Delete a run with its rollouts, attempts, spans and metrics',
    body: runDeletionCodec,
    isSpread: true,
    waitMs: deletionWaitMs,
    response: deletionCountsCodec,
    idempotency: 'key',
  },
  applyRetention: {
    ...post('/deletions/retention', 'admin'),
    summary: 'Apply a retention policy',
    body: retentionPolicyCodec,
    waitMs: deletionWaitMs,
    response: deletionCountsCodec,
    idempotency: 'key',
  },
  // A separate path: a server that does not support it deletes nothing.
  previewRetention: {
    ...post('/deletions/retention/preview', 'project:read'),
    summary: 'Preview a retention policy',
    body: retentionPolicyCodec,
    waitMs: deletionWaitMs,
    response: retentionPreviewCodec,
  },
};
