export type { ClientCertificate } from './client/client-credentials.ts';
export { type ConnectRuntimeOptions, connectRuntime } from './client/connect-runtime.ts';
export type { ExportedArtifact } from './client/download-artifact.ts';
export type { RuntimeConnection } from './client/grpc-runtime.ts';
export type { OperationStatus } from './client/operation-status.ts';
export type { RuntimeModel } from './client/runtime-model.ts';
export type { RuntimeMetric, WatchMetricsOptions } from './client/watch-metrics.ts';
export { ErrorReason } from './gen/agentlightning/runtime/v1/error_pb.ts';
export { RuntimeError } from './runtime-error.ts';
export type { RuntimeLimits } from './runtime-limits.ts';
export type {
  EngineArtifact,
  EngineCapabilities,
  EngineCheckpoint,
  EngineModel,
  EngineModelState,
  ExportFormat,
  ExportOptions,
  ForwardOutput,
  InferenceState,
  PauseMode,
  ResolvedAdam,
  ResolvedLoss,
  RuntimeEngine,
  WorkContext,
} from './server/engine.ts';
export {
  type RuntimeServer,
  type ServeRuntimeOptions,
  serveRuntime,
} from './server/serve-runtime.ts';
export type { ServerTls } from './server/server-credentials.ts';
export type { ServedRuntime, ServedRuntimeOptions } from './serving/start-runtime.ts';
export { encodeBatch } from './wire/batch.ts';
