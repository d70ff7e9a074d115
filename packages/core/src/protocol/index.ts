export { type ClosingServer, closeServer } from '../server/close-server.ts';
export { foreignRequest, type RequestProvenance } from '../server/foreign-request.ts';
export { assertKeyIsEncrypted } from '../server/insecure-key.ts';
export { isLoopback } from '../server/is-loopback.ts';
export { type ListeningServer, listen } from '../server/listen.ts';
export { hostAndPort, type ListenAddress } from '../server/listen-address.ts';
export { listenError } from '../server/listen-error.ts';
export { isReservedAttribute } from '../spans/span-attributes.ts';
export { assertId } from './assert-id.ts';
export type { AttemptClaims, AttemptTokenRequest, AttemptTokensOptions } from './attempt-token.ts';
export { AttemptTokens } from './attempt-token.ts';
export { maxSequenceId } from './max-sequence-id.ts';
export type { Present } from './present.ts';
export { present } from './present.ts';
export type { RevokedAttemptTokensOptions } from './revoked-attempt-tokens.ts';
export { attemptTokenDigest, RevokedAttemptTokens } from './revoked-attempt-tokens.ts';
export { isRewardedByEvaluator, lateRewardRefusal, rewardSourceKey } from './reward-source.ts';
export { attemptCodec, wireAttemptStartSchema, wireAttemptStatusSchema } from './rollouts/wire-attempt.ts';
export { attemptPatchCodec } from './rollouts/wire-attempt-patch.ts';
export {
  attemptedRolloutCodec,
  rolloutCodec,
  wireRolloutModeSchema,
  wireRolloutStatusSchema,
} from './rollouts/wire-rollout.ts';
export { rolloutConfigCodec } from './rollouts/wire-rollout-config.ts';
export { rolloutPatchCodec } from './rollouts/wire-rollout-patch.ts';
export type { EnqueueRequest } from './rollouts/wire-rollout-request.ts';
export { enqueueCodec, rolloutRequestCodec } from './rollouts/wire-rollout-request.ts';
export { metricPointCodec } from './runs/wire-metric-point.ts';
export type { RunRequest, RunUpdate } from './runs/wire-run.ts';
export { runCodec, runRequestCodec, runUpdateCodec } from './runs/wire-run.ts';
export { runStatisticsCodec } from './runs/wire-run-statistics.ts';
export { statisticsCodec } from './runs/wire-statistics.ts';
export { strictHeader } from './strict-header.ts';
export type { WireAttemptToken, WireAttemptTokenRequest } from './wire-attempt-token.ts';
export {
  attemptTokenRevocationSchema,
  attemptTokenToWire,
  revokedAttemptTokensSchema,
  wireAttemptTokenRequestSchema,
  wireAttemptTokenSchema,
} from './wire-attempt-token.ts';
export type { WireChange, WireWatchQuery } from './wire-change.ts';
export {
  changeFromWire,
  changeToWire,
  watchQueryFromWire,
  watchQueryToWire,
  wireChangeSchema,
  wireWatchQuerySchema,
} from './wire-change.ts';
export type { RunDeletion } from './wire-deletion.ts';
export { deletionCountsSchema, rolloutDeletionCodec, runDeletionCodec } from './wire-deletion.ts';
export type { WireErrorBody } from './wire-error.ts';
export { errorFromWire, errorToWire, httpStatusOf } from './wire-error.ts';
export type { WirePage, WirePageOptions } from './wire-page.ts';
export {
  pageFromWire,
  pageOptionsFromWire,
  pageOptionsToWire,
  pageToWire,
  wirePageOptionsShape,
  wirePageSchema,
} from './wire-page.ts';
export type {
  WireAttemptQuery,
  WireResourcesQuery,
  WireRolloutQuery,
  WireSpanQuery,
  WireWorkerQuery,
} from './wire-query.ts';
export {
  attemptQueryFromWire,
  attemptQueryToWire,
  resourcesQueryFromWire,
  resourcesQueryToWire,
  rolloutQueryFromWire,
  rolloutQueryToWire,
  spanQueryFromWire,
  spanQueryToWire,
  wireAttemptQuerySchema,
  wireResourcesQuerySchema,
  wireRolloutQuerySchema,
  wireSpanQuerySchema,
  wireWorkerQuerySchema,
  workerQueryFromWire,
  workerQueryToWire,
} from './wire-query.ts';
export { namedResourcesCodec, resourcesSnapshotCodec } from './wire-resources.ts';
export { retentionPolicyCodec, retentionPreviewCodec } from './wire-retention.ts';
export type { WireSpan, WireSpanContext } from './wire-span.ts';
export {
  spanFromWire,
  spanInputFromWire,
  spanToReaders,
  spanToWire,
  wireSpanBatchSchema,
  wireSpanSchema,
} from './wire-span.ts';
export type { WireSpanSearch, WireSpanSearchPage } from './wire-span-search.ts';
export {
  spanSearchFromWire,
  spanSearchPageFromWire,
  spanSearchPageToWire,
  spanSearchToWire,
  wireSpanSearchPageSchema,
  wireSpanSearchSchema,
} from './wire-span-search.ts';
export { msFromSeconds, msFromSecondsOrNull, secondsFromMs, secondsFromMsOrNull } from './wire-time.ts';
export type { WireClaimRequest, WireSequenceIdRequest, WireWaitRequest } from './wire-wait.ts';
export {
  wireClaimRequestSchema,
  wireSequenceIdBatchSchema,
  wireSequenceIdRequestSchema,
  wireWaitRequestSchema,
} from './wire-wait.ts';
export { wireWorkerHeartbeatSchema, wireWorkerStatusSchema, workerCodec } from './wire-worker.ts';
