import { fileURLToPath } from 'node:url';
import { NotFoundError } from '@agentlightning/core';
import { readCheckpoint } from './checkpoint/model-checkpoint.ts';
import { type ModelConfig, tinyModelConfig } from './model/model-config.ts';
import { withValueHead } from './model/parameters.ts';
import { type EngineOptions, ModelEngine } from './model-engine.ts';

/** How a base model is to be loaded. */
export interface LoadOptions extends EngineOptions {
  /** Whether the model gets a value head, which says 0 of everything at first. @default false */
  readonly hasValueHead?: boolean;
}

/** A model one can start from. */
export interface BaseModel {
  readonly name: string;
  readonly config: ModelConfig;
  /** Makes an engine from it; the seed decides random weights, and the samples of requests without a seed. */
  readonly load: (seed: number, options?: LoadOptions) => Promise<ModelEngine>;
}

/** The start checkpoint, beside `src` and `dist` alike. */
const tinyChatPath = fileURLToPath(new URL('../models/tiny-chat.safetensors', import.meta.url));

/** The models this runtime has. */
export const baseModels: readonly BaseModel[] = [
  {
    name: 'tiny-chat',
    config: tinyModelConfig,
    load: async (seed, options = {}) => {
      const weights = await readCheckpoint(tinyChatPath);
      const headed = options.hasValueHead === true ? withValueHead(weights.config, weights.parameters) : {};
      return ModelEngine.fromWeights({ ...weights, ...headed }, seed, options);
    },
  },
  {
    name: 'tiny-random',
    config: tinyModelConfig,
    load: async (seed, options = {}) =>
      ModelEngine.random({ ...tinyModelConfig, hasValueHead: options.hasValueHead ?? false }, seed, options),
  },
];

/** Makes an engine from the base model of this name. */
export function loadBaseModel(name: string, seed: number, options?: LoadOptions): Promise<ModelEngine> {
  const model = baseModels.find((candidate) => candidate.name === name);
  if (model === undefined) throw new NotFoundError('Base model', name);
  return model.load(seed, options);
}
