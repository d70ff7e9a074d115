/**
 * Data types and rules for implementations and clients of the store: queries, patches, status transitions, runs, workers.
 *
 * @module
 */

export { IllegalTransitionError } from '../base/agent-lightning-error.ts';
export type { IdKind } from '../base/id.ts';
export { newId, newSpanId, newTraceId } from '../base/id.ts';
export type { RolloutTrace } from '../store/attempt.ts';
export { isTerminalAttemptStatus } from '../store/attempt.ts';
export type { Cost } from '../store/cost.ts';
export type { FailureOrigin } from '../store/failure-origin.ts';
export { attemptFailureOrigin } from '../store/failure-origin.ts';
export type { ModelUsage } from '../store/model-usage.ts';
export type { ModelPrice, RuntimeTokenPrices } from '../store/prices.ts';
export type {
  AttemptQuery,
  FeedbackPage,
  FeedbackQuery,
  ListedRunKind,
  MetricQuery,
  Page,
  PageOptions,
  ResourcesQuery,
  RolloutQuery,
  RunQuery,
  SpanQuery,
  WorkerQuery,
} from '../store/queries.ts';
export type { LlmResource, NamedResources, ProxyLlmResource, ResourcesSnapshot } from '../store/resource.ts';
export { attemptBaseUrl } from '../store/resource.ts';
export type { DeletionCounts, RetentionPolicy, RetentionPreview } from '../store/retention.ts';
export type { AttemptedRollout, EnqueueRolloutRequest, StartRolloutRequest } from '../store/rollout.ts';
export { defaultRolloutConfig } from '../store/rollout.ts';
export type { FoundRollout, RolloutSearch, RolloutSearchPage } from '../store/rollout-search.ts';
export type { RetryPolicy } from '../store/rollout-status.ts';
export {
  assertRolloutTransition,
  isTerminalRolloutStatus,
  rolloutStatusFromAttempt,
  rolloutTransitions,
  terminalRolloutStatuses,
} from '../store/rollout-status.ts';
export type { MetricPoint, RunStatistics, RunStatus } from '../store/run.ts';
export type { SpanSearch, SpanSearchPage } from '../store/span-search.ts';
export type {
  AttemptPatch,
  ClaimOptions,
  RevokedTokens,
  RolloutPatch,
  RunPatch,
  WaitOptions,
} from '../store/store.ts';
export type { StoreChange, WatchOptions } from '../store/store-change.ts';
export type { GroupQuery, GroupStatistics, StoreStatistics } from '../store/store-statistics.ts';
export type { Worker, WorkerStatus } from '../store/worker.ts';
