export { type ConnectRuntimeOptions, connectRuntime } from './client/connect-runtime.ts';
export type { RuntimeConnection } from './client/grpc-runtime.ts';
export type { RuntimeModel } from './client/runtime-model.ts';
export { ErrorReason } from './gen/agentlightning/runtime/v1/error_pb.ts';
export { RuntimeError, type RuntimeErrorOptions } from './runtime-error.ts';
export { defaultRuntimeLimits, type RuntimeLimits } from './runtime-limits.ts';
export type {
  EngineCapabilities,
  EngineCheckpoint,
  EngineModel,
  EngineModelState,
  InferenceState,
  PauseMode,
  ResolvedAdam,
  ResolvedLoss,
  RuntimeEngine,
} from './server/engine.ts';
export {
  type RuntimeServer,
  type ServeRuntimeOptions,
  type ServerTls,
  serveRuntime,
} from './server/serve-runtime.ts';
export { type EncodedBatch, encodeBatch } from './wire/batch.ts';
