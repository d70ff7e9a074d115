export { type ServerProfileName, serverProfiles } from './profile.ts';
export { startTinkerRuntime, type TinkerRuntimeOptions } from './start-tinker-runtime.ts';
