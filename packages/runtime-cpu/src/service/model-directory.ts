import type { CpuModel } from './cpu-model.ts';

/** The models in memory, by id: what training works on and the model API serves. */
export type ModelDirectory = Map<string, CpuModel>;
