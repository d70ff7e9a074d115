import { fileURLToPath } from 'node:url';
import { NotFoundError } from '@agentlightning/core';
import { readCheckpoint } from './checkpoint/model-checkpoint.ts';
import { type ModelConfig, tinyModelConfig } from './model/model-config.ts';
import { type EngineOptions, ModelEngine } from './model-engine.ts';

/** A model one can start from. */
export interface BaseModel {
  readonly name: string;
  readonly config: ModelConfig;
  /** Makes an engine from it; the seed decides random weights, and the samples of requests without a seed. */
  readonly load: (seed: number, options?: EngineOptions) => Promise<ModelEngine>;
}

/** The start checkpoint, beside `src` and `dist` alike. */
const tinyChatPath = fileURLToPath(new URL('../models/tiny-chat.safetensors', import.meta.url));

/** The models this runtime has. */
export const baseModels: readonly BaseModel[] = [
  {
    name: 'tiny-chat',
    config: tinyModelConfig,
    load: async (seed, options) => ModelEngine.fromWeights(await readCheckpoint(tinyChatPath), seed, options),
  },
  {
    name: 'tiny-random',
    config: tinyModelConfig,
    load: async (seed, options) => ModelEngine.random(tinyModelConfig, seed, options),
  },
];

/** Makes an engine from the base model of this name. */
export function loadBaseModel(name: string, seed: number, options?: EngineOptions): Promise<ModelEngine> {
  const model = baseModels.find((candidate) => candidate.name === name);
  if (model === undefined) throw new NotFoundError('Base model', name);
  return model.load(seed, options);
}
