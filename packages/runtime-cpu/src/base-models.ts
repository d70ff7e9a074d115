import { fileURLToPath } from 'node:url';
import { NotFoundError } from '@agentlightning/core';
import { readCheckpoint } from './checkpoint/model-checkpoint.ts';
import { type ModelConfig, tinyModelConfig } from './model/model-config.ts';
import { withValueHead } from './model/parameters.ts';
import { type EngineOptions, ModelEngine } from './model-engine.ts';

/** Options of loading a base model. */
export interface LoadOptions extends EngineOptions {
  /** Whether to add a value head, initialised to zero. @default false */
  readonly hasValueHead?: boolean;
}

/** A base model. */
export interface BaseModel {
  /** Name of the model. */
  readonly name: string;
  /** Its dimensions. */
  readonly config: ModelConfig;
  /** Licence of its weights. @default unknown */
  readonly license?: string;
  /** Creates an engine from it; the seed determines random weights, and the samples of requests without a seed. */
  readonly load: (seed: number, options?: LoadOptions) => Promise<ModelEngine>;
}

/** The licence of this package, which its weights are a part of. */
const license = 'MIT';

/** A pre-trained model whose weights are in the package, at the same path from `src` and `dist`. */
function pretrainedModel(name: string): BaseModel {
  const weightFile = fileURLToPath(new URL(`../models/${name}.safetensors`, import.meta.url));
  return {
    name,
    config: tinyModelConfig,
    license,
    load: async (seed, options = {}) => {
      const weights = await readCheckpoint(weightFile);
      const headed = options.hasValueHead === true ? withValueHead(weights.config, weights.parameters) : {};
      return ModelEngine.fromWeights({ ...weights, ...headed }, seed, options);
    },
  };
}

/** The base models of this runtime. */
export const baseModels: readonly BaseModel[] = [
  pretrainedModel('tiny-chat'),
  pretrainedModel('tiny-reader'),
  {
    name: 'tiny-random',
    config: tinyModelConfig,
    license,
    load: async (seed, options = {}) =>
      ModelEngine.random({ ...tinyModelConfig, hasValueHead: options.hasValueHead ?? false }, seed, options),
  },
];

/** Creates an engine from the base model of this name. */
export function loadBaseModel(name: string, seed: number, options?: LoadOptions): Promise<ModelEngine> {
  const model = baseModels.find((candidate) => candidate.name === name);
  if (model === undefined) throw new NotFoundError('Base model', name);
  return model.load(seed, options);
}
