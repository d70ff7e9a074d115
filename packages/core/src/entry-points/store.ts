/**
 * Data types and rules for implementations and clients of the store: queries, patches, status transitions, runs, workers.
 *
 * @module
 */
export { isTerminalAttemptStatus, terminalAttemptStatuses } from '../attempt.ts';
export type { FailureOrigin, RecordedFailure } from '../errors/failure-origin.ts';
export { attemptFailureOrigin, failureMetadata, failureOriginOf, recordedFailure } from '../errors/failure-origin.ts';
export type { IdKind } from '../id.ts';
export { newId, newSpanId, newTraceId } from '../id.ts';
export type { ResourcesSnapshot } from '../resource.ts';
export { attemptBaseUrl } from '../resource.ts';
export type { DeletionCounts, RetentionPolicy, RetentionPreview } from '../retention.ts';
export type { RevokedTokens } from '../revoked-tokens.ts';
export type { EnqueueRolloutRequest, StartRolloutRequest } from '../rollout.ts';
export { defaultRolloutConfig, hasAttempt } from '../rollout.ts';
export type { RetryPolicy } from '../rollout-status.ts';
export {
  assertRolloutTransition,
  isTerminalRolloutStatus,
  lostClaimsReasonKey,
  rolloutStatusFromAttempt,
  rolloutTransitions,
  terminalRolloutStatuses,
} from '../rollout-status.ts';
export type { MetricPoint, RunStatus } from '../run.ts';
export type { RunStatistics } from '../run-statistics.ts';
export type { SpanSearch, SpanSearchPage } from '../span-search.ts';
export type {
  AttemptPatch,
  AttemptQuery,
  ClaimOptions,
  Page,
  PageOptions,
  ResourcesQuery,
  RolloutPatch,
  RolloutQuery,
  RunPatch,
  SpanQuery,
  StoreStatistics,
  WaitOptions,
  WorkerQuery,
} from '../store.ts';
export type { StoreChange, WatchOptions } from '../store-change.ts';
export type { Worker, WorkerStatus } from '../worker.ts';
