export { type ClosingServer, closeServer } from '../server/close-server.ts';
export { crossOriginReason, type RequestProvenance } from '../server/cross-origin-request.ts';
export { assertKeyIsEncrypted } from '../server/insecure-key.ts';
export { isLoopback } from '../server/is-loopback.ts';
export { type ListeningServer, listen } from '../server/listen.ts';
export { hostAndPort, type ListenAddress } from '../server/listen-address.ts';
export { listenError } from '../server/listen-error.ts';
export { assertStrongKey, type ServerKey } from '../server/strong-key.ts';
export { isReservedAttribute } from '../spans/span-attributes.ts';
export {
  type AccessRight,
  type AccessRole,
  accessRoles,
  defaultProject,
  roleRights,
  rolesWith,
} from './access-rights.ts';
export { assertId } from './assert-id.ts';
export type { AttemptClaims, AttemptTokenRequest, AttemptTokensOptions } from './attempt-token.ts';
export { AttemptTokens } from './attempt-token.ts';
export { type PublicationRecord, publicationRecordsSchema } from './records/publication-record.ts';
export { type RunnerRecord, readRunner, storeTimeOf } from './records/runner-record.ts';
export type { RevokedAttemptTokensOptions } from './revoked-attempt-tokens.ts';
export { attemptTokenDigest, RevokedAttemptTokens } from './revoked-attempt-tokens.ts';
export {
  isRewardedByEvaluator,
  lateRewardRefusal,
  type RestrictedContent,
  restrictedContentOf,
  rewardSourceKey,
} from './reward-source.ts';
export { attemptCodec } from './rollouts/wire-attempt.ts';
export { attemptedRolloutCodec, rolloutCodec, rolloutConfigCodec } from './rollouts/wire-rollout.ts';
export { operationRoutes } from './routes/operation-routes.ts';
export type { SpecialRoutes } from './routes/special-routes.ts';
export { specialRoutes } from './routes/special-routes.ts';
export type { OperationName, OperationRoute, StoreRoute } from './routes/store-route.ts';
export { maxBatchItems, pathParameters, strictHeader } from './routes/store-route.ts';
export type { AttemptTokenOptions, IssuedAttemptToken } from './wire-attempt-token.ts';
export type { WatchQuery } from './wire-change.ts';
export { changeCodec } from './wire-change.ts';
export { deletionCountsCodec } from './wire-deletion.ts';
export type { ErrorBody } from './wire-error.ts';
export { errorCodec, httpStatusOf } from './wire-error.ts';
export { resourcesSnapshotCodec } from './wire-resources.ts';
export type { RunRequest } from './wire-run.ts';
export { metricPointCodec, runCodec } from './wire-run.ts';
export type { AttemptReference } from './wire-span.ts';
export { maxSequenceId, recordedSpanCodec, spanInputCodec } from './wire-span.ts';
export type { ClaimRequest, WaitRequest } from './wire-wait.ts';
export { workerCodec } from './wire-worker.ts';
