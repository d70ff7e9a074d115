export type { CpuRuntime, CpuRuntimeOptions } from './service/start-cpu-runtime.ts';
export { startCpuRuntime } from './service/start-cpu-runtime.ts';
