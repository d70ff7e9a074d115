import type { CpuModel } from './cpu-model.ts';

/** The loaded models by id, shared by training and the model API. */
export type ModelDirectory = Map<string, CpuModel>;
