/**
 * The protocol of the store and the servers: codecs, routes, records, tokens. For the packages of this repository; not covered
 * by semantic versioning.
 *
 * @module
 */

export { headerNames, ownHeaderPrefix, requestIdFrom } from '../base/header-names.ts';
export { type ClosingServer, closeServer } from '../server/close-server.ts';
export { crossOriginReason, type RequestProvenance } from '../server/cross-origin-request.ts';
export { assertKeyIsEncrypted } from '../server/insecure-key.ts';
export { isLoopback } from '../server/is-loopback.ts';
export { type ListeningServer, listen, listenError } from '../server/listen.ts';
export { hostAndPort, type ListenAddress } from '../server/listen-address.ts';
export { assertStrongKey, isSameSecret, type ServerKey } from '../server/strong-key.ts';
export { isReservedAttribute } from '../spans/span-attributes.ts';
export { maxTraceRollouts } from '../store/attempt.ts';
export {
  completeUsage,
  costOfCalls,
  costOfRun,
  effortOf,
  pricesOf,
  type RunEffort,
  runEffortSchema,
} from '../store/cost.ts';
export type { RecordedFailure } from '../store/failure-origin.ts';
export { failureMetadata, failureOriginOf, recordedFailure } from '../store/failure-origin.ts';
export { addUsage, modelUsageSchema, usageOfSpans } from '../store/model-usage.ts';
export type { Prices } from '../store/prices.ts';
export { pricesSchema } from '../store/prices.ts';
export { hasAttempt } from '../store/rollout.ts';
export { lostClaimsReasonKey } from '../store/rollout-status.ts';
export { unfinishedRunStatuses } from '../store/run.ts';
export { trainerWorkerPrefix, workerLeaseKey } from '../store/worker.ts';
export {
  type AccessRight,
  type AccessRole,
  accessRoles,
  defaultProject,
  roleRights,
  rolesWith,
} from './access/access-rights.ts';
export type { AttemptClaims, AttemptTokenRequest, AttemptTokensOptions } from './access/attempt-token.ts';
export { AttemptTokens } from './access/attempt-token.ts';
export type { RevokedAttemptTokensOptions } from './access/revoked-attempt-tokens.ts';
export { attemptTokenDigest, RevokedAttemptTokens } from './access/revoked-attempt-tokens.ts';
export {
  isRewardedByEvaluator,
  lateRewardRefusal,
  type RestrictedContent,
  restrictedContentOf,
  rewardSourceKey,
} from './access/reward-source.ts';
export {
  type DeploymentCandidate,
  type DeploymentChange,
  type DeploymentState,
  isDeployment,
  type ModelSource,
  type ModelVersion,
  type NeededVersion,
  neededVersions,
  previousVersion,
  readDeployment,
} from './records/deployment.ts';
export { type PublicationRecord, publicationRecordsSchema } from './records/publication-record.ts';
export type {
  AuditAgreement,
  AuditCode,
  AuditedRollout,
  AuditFinding,
  AuditSeries,
  RunAudit,
} from './records/run-audit.ts';
export type { RunCheckpoint, RunInfo, VerdictName } from './records/run-info.ts';
export { runInfoCodec, verdictNames } from './records/run-info.ts';
export { type RunKind, type RunProgress, readRunProgress, type SearchProgress } from './records/run-progress.ts';
export { stageSummaries } from './records/run-stages.ts';
export {
  type RunWarning,
  runWarningSchema,
  type WarningExplanation,
  type WarningName,
  warningNames,
  warningThresholds,
} from './records/run-warning.ts';
export { type RunnerRecord, readRunner, storeTimeOf } from './records/runner-record.ts';
export { type TaskTrials, taskTrialsSchema, unsolvedTasks } from './records/task-trials.ts';
export type {
  CompletionReason,
  ConstantResponse,
  EvaluationPhase,
  EvaluationSummary,
  FinalCheckpoint,
  NothingLeftEvent,
  PromptsOutcome,
  RolloutPhase,
  SearchStart,
  StageSummary,
  StepSummary,
  TrainingEvent,
  TrainingSummary,
  UnsolvedTask,
} from './records/training-event.ts';
export { completionReasons } from './records/training-event.ts';
export {
  evaluationSummarySchema,
  type FailedEvent,
  failedEventSchema,
  judgedPromptsSchema,
  type PausedEvent,
  type RunEvent,
  runEventSchema,
  trainingEventSchema,
} from './records/training-event-schema.ts';
export { operationRoutes } from './routes/operation-routes.ts';
export type {
  CreateRunRequest,
  DataSetPart,
  DataSetState,
  ResumeRunRequest,
  ServerDescription,
  ServerRoutes,
} from './routes/server-routes.ts';
export { resumeRunRequestSchema, serverRoutes } from './routes/server-routes.ts';
export type { SpecialRoutes } from './routes/special-routes.ts';
export { specialRoutes } from './routes/special-routes.ts';
export type { OperationName, OperationRoute, StoreRoute } from './routes/store-route.ts';
export { maxBatchItems, pathParameters } from './routes/store-route.ts';
export { assertId } from './wire/assert-id.ts';
export { attemptCodec } from './wire/wire-attempt.ts';
export type { AttemptTokenOptions, IssuedAttemptToken } from './wire/wire-attempt-token.ts';
export type { WatchQuery } from './wire/wire-change.ts';
export { changeCodec } from './wire/wire-change.ts';
export { deletionCountsCodec } from './wire/wire-deletion.ts';
export type { ErrorBody } from './wire/wire-error.ts';
export { errorCodec, httpStatusOf } from './wire/wire-error.ts';
export { resourcesSnapshotCodec } from './wire/wire-resources.ts';
export { attemptedRolloutCodec, rolloutCodec, rolloutConfigCodec } from './wire/wire-rollout.ts';
export type { RunRequest } from './wire/wire-run.ts';
export { metricPointCodec, runCodec } from './wire/wire-run.ts';
export type { AttemptReference } from './wire/wire-span.ts';
export { maxSequenceId, recordedSpanCodec, spanInputCodec } from './wire/wire-span.ts';
export type { ClaimRequest, WaitRequest } from './wire/wire-wait.ts';
export { workerCodec } from './wire/wire-worker.ts';
