import * as z from 'zod';
import type { Span, SpanInput } from '../../spans/span.ts';
import type { Attempt } from '../../store/attempt.ts';
import type { AttemptQuery, Page, RolloutQuery, SpanQuery, WorkerQuery } from '../../store/queries.ts';
import type { ResourcesSnapshot } from '../../store/resource.ts';
import type { AttemptedRollout, Rollout } from '../../store/rollout.ts';
import type { Run } from '../../store/run.ts';
import type { Worker } from '../../store/worker.ts';
import { attemptCodec } from '../wire/wire-attempt.ts';
import {
  type AttemptTokenOptions,
  attemptTokenOptionsCodec,
  attemptTokenRevocationCodec,
  type IssuedAttemptToken,
  issuedAttemptTokenCodec,
  revokedAttemptTokensCodec,
} from '../wire/wire-attempt-token.ts';
import { type WatchQuery, watchQueryCodec } from '../wire/wire-change.ts';
import { attemptQueryCodec, rolloutQueryCodec, spanQueryCodec, workerQueryCodec } from '../wire/wire-query.ts';
import { resourcesSnapshotCodec } from '../wire/wire-resources.ts';
import { attemptedRolloutCodec, rolloutCodec } from '../wire/wire-rollout.ts';
import { runCodec } from '../wire/wire-run.ts';
import {
  type AttemptReference,
  attemptReferenceCodec,
  recordedSequenceIdsCodec,
  recordedSpanCodec,
  sequenceIdCodec,
  spanBatchCodec,
  spanCodec,
  spanInputCodec,
} from '../wire/wire-span.ts';
import { type ClaimRequest, claimCodec, type WaitRequest, waitCodec } from '../wire/wire-wait.ts';
import { workerCodec } from '../wire/wire-worker.ts';
import { get, list, maxBatchItems, original, post, type StoreRoute } from './store-route.ts';

/** The routes that do not map directly to an operation, with their input and output. */
export interface SpecialRoutes {
  readonly health: StoreRoute<never, { readonly status: 'ok' }>;
  readonly prometheus: StoreRoute<never, never>;
  readonly openApi: StoreRoute<never, never>;
  readonly claimRollouts: StoreRoute<ClaimRequest, readonly AttemptedRollout[]>;
  readonly waitForRollouts: StoreRoute<WaitRequest, readonly Rollout[]>;
  readonly watchChanges: StoreRoute<WatchQuery, never>;
  readonly listRollouts: StoreRoute<RolloutQuery, Page<Rollout>>;
  readonly listAttempts: StoreRoute<AttemptQuery, Page<Attempt>>;
  readonly listWorkers: StoreRoute<WorkerQuery, Page<Worker>>;
  readonly listSpans: StoreRoute<SpanQuery, Page<Span>>;
  readonly getResources: StoreRoute<never, ResourcesSnapshot | null>;
  readonly appendSpan: StoreRoute<SpanInput, Span | null>;
  readonly appendSpans: StoreRoute<readonly SpanInput[], readonly (number | null)[]>;
  readonly nextSpanSequenceId: StoreRoute<AttemptReference, number>;
  readonly createAttemptToken: StoreRoute<AttemptTokenOptions, IssuedAttemptToken>;
  readonly revokeAttemptToken: StoreRoute<string, readonly string[]>;
  readonly exportRun: StoreRoute<never, never>;
  readonly importRun: StoreRoute<never, Run>;
  readonly exportTraces: StoreRoute<never, never>;
  readonly exportMetrics: StoreRoute<never, never>;
  readonly exportLogs: StoreRoute<never, never>;
  readonly exportProfiles: StoreRoute<never, never>;
}

const otlpTypes = ['application/x-protobuf', 'application/json'];
const ignored = {
  method: 'POST',
  right: 'otlp:write',
  isInProtocol: true,
  summary: 'Accepted for exporters that send every signal, and not recorded',
  otherTypes: { body: otlpTypes, response: otlpTypes },
} as const;

/** The routes that do not map directly to an operation. */
export const specialRoutes: SpecialRoutes = {
  health: {
    ...original.get('/health', 'public'),
    summary: 'Health check',
    response: z.object({ status: z.literal('ok') }),
  },
  prometheus: {
    method: 'GET',
    path: '/metrics',
    right: 'work:read',
    summary: 'Prometheus metrics',
    otherTypes: { response: ['text/plain'] },
  },
  openApi: { ...get('/openapi.json', 'work:read'), summary: 'This document' },

  claimRollouts: {
    ...original.post('/queues/rollouts/dequeue', 'work:write'),
    summary: 'Claim rollouts, optionally as a long poll',
    body: claimCodec,
    isBodyOptional: true,
    response: z.array(attemptedRolloutCodec),
    idempotency: 'key',
  },
  waitForRollouts: {
    ...original.post('/waits/rollouts', 'project:read'),
    summary: 'Wait for rollouts to finish; streams server-sent events if accepted',
    body: waitCodec,
    response: z.array(rolloutCodec),
    otherTypes: { response: ['text/event-stream'] },
  },
  watchChanges: {
    ...get('/events', 'project:read'),
    summary: 'Stream changes as server-sent events; `Last-Event-ID` resumes after an event',
    query: watchQueryCodec,
    otherTypes: { response: ['text/event-stream'] },
  },

  listRollouts: {
    ...original.get('/rollouts', 'project:read'),
    summary: 'List rollouts',
    query: rolloutQueryCodec,
    ...list(rolloutCodec),
  },
  listAttempts: {
    ...original.get('/rollouts/:rolloutId/attempts', 'work:read'),
    summary: 'List attempts',
    query: attemptQueryCodec,
    ...list(attemptCodec),
  },
  listWorkers: {
    ...original.get('/workers', 'project:read'),
    summary: 'List workers',
    query: workerQueryCodec,
    ...list(workerCodec),
  },
  listSpans: {
    ...original.get('/spans', 'work:read'),
    summary: 'List spans of a rollout',
    query: spanQueryCodec,
    ...list(spanCodec),
  },

  getResources: {
    ...original.get('/resources/:resourcesId', 'attempt:read'),
    summary: 'Read resources; null if they do not exist',
    response: resourcesSnapshotCodec.nullable(),
  },
  appendSpan: {
    ...original.post('/spans', 'attempt:write'),
    summary: 'Record a span; null if it exists',
    body: spanInputCodec,
    response: recordedSpanCodec.nullable(),
    status: 201,
    idempotency: 'inherent',
  },
  appendSpans: {
    ...post('/spans/batch', 'attempt:write'),
    summary: 'Record up to 1000 spans in one transaction; null for existing ones',
    body: spanBatchCodec,
    maxItems: maxBatchItems,
    response: recordedSequenceIdsCodec,
    status: 201,
    idempotency: 'inherent',
  },
  nextSpanSequenceId: {
    ...original.post('/spans/next', 'attempt:write'),
    summary: 'Reserve the next sequence id',
    body: attemptReferenceCodec,
    response: sequenceIdCodec,
    idempotency: 'key',
  },
  createAttemptToken: {
    ...post('/rollouts/:rolloutId/attempts/:attemptId/token', 'work:write'),
    summary: 'Create an attempt token for an agent',
    body: attemptTokenOptionsCodec,
    isBodyOptional: true,
    response: issuedAttemptTokenCodec,
    status: 201,
  },
  revokeAttemptToken: {
    ...post('/revocations/tokens', 'work:write'),
    summary: 'Revoke an attempt token',
    body: attemptTokenRevocationCodec,
    response: revokedAttemptTokensCodec,
  },

  exportRun: {
    ...get('/runs/:runId/archive', 'admin'),
    summary: 'Export a run as an archive',
    otherTypes: { response: ['application/gzip'] },
  },
  importRun: {
    ...post('/archives/runs', 'admin'),
    summary: 'Import a run from an archive',
    otherTypes: { body: ['application/gzip'] },
    response: runCodec,
    status: 201,
  },

  exportTraces: {
    method: 'POST',
    path: '/v1/traces',
    right: 'otlp:write',
    isInProtocol: true,
    summary: 'Record spans as OTLP, plain or gzip',
    otherTypes: { body: otlpTypes, response: otlpTypes },
  },
  exportMetrics: { ...ignored, path: '/v1/metrics' },
  exportLogs: { ...ignored, path: '/v1/logs' },
  exportProfiles: { ...ignored, path: '/v1/development/profiles' },
};
