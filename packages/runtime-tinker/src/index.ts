export type { MeasuredServer } from './engine/measure-server.ts';
export type { LossScale, ServerProfile } from './profile.ts';
export {
  examineTinkerServer,
  startTinkerRuntime,
  type TinkerRuntimeOptions,
  type TinkerServerOptions,
} from './start-tinker-runtime.ts';
