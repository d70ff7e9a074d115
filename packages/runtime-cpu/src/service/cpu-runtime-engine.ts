import os from 'node:os';
import { type Clock, NotFoundError } from '@agentlightning/core';
import type { CreateModelOptions } from '@agentlightning/core/training-runtime';
import type { EngineCapabilities, RuntimeEngine } from '@agentlightning/runtime';
import type { BaseModel, LoadOptions } from '../base-models.ts';
import { parameterLayout } from '../model/parameters.ts';
import { ModelEngine } from '../model-engine.ts';
import { packageVersion } from '../package-files.ts';
import { chatTemplateSha256, tokenizerSha256 } from '../text/text-hashes.ts';
import { lossDefinitions } from '../training/loss-spec.ts';
import { ProgramCache } from '../training/program-cache.ts';
import { CheckpointFolder } from './checkpoint-folder.ts';
import { CpuModel } from './cpu-model.ts';
import { readInitialWeights } from './initial-weights.ts';
import type { ModelDirectory } from './model-directory.ts';
import { yieldToSampling } from './yield-to-sampling.ts';

/** Dependencies of the engine. */
export interface CpuRuntimeEngineOptions {
  /** Parent folder of checkpoints, with a folder for each model. */
  readonly checkpointDir: string;
  /** The models by id; shared with the model API. */
  readonly models: ModelDirectory;
  /** The base models offered to clients. */
  readonly baseModels: readonly BaseModel[];
  /** The base URL of the model API, including `/v1`. */
  readonly baseUrl: string;
  readonly clock: Clock;
  /** Called after the server over the engine has stopped. */
  readonly onClose: () => Promise<void>;
}

/** The engine of the embedded runtime for the gRPC server. */
export class CpuRuntimeEngine implements RuntimeEngine {
  readonly #options: CpuRuntimeEngineOptions;
  readonly #programs: ProgramCache = new ProgramCache();
  readonly #yieldToSampling: () => Promise<void>;

  constructor(options: CpuRuntimeEngineOptions) {
    this.#options = options;
    this.#yieldToSampling = () => yieldToSampling(options);
  }

  capabilities(): EngineCapabilities {
    return {
      runtimeVersion: packageVersion(),
      device: `cpu (${os.cpus()[0]?.model ?? os.arch()}, WebAssembly)`,
      models: this.#options.baseModels.map(({ name, config }) => ({
        name,
        maxContext: config.maxContext,
        vocabSize: config.vocabularySize,
        tokenizerSha256,
        chatTemplateSha256,
        parameterCount: parameterLayout(config).size,
      })),
      losses: lossDefinitions,
      maxBatchTokens: 4_000_000,
      features: [
        'value_head',
        'reference_logprobs',
        'export',
        'metrics',
        'progress',
        'pause',
        'initial_checkpoint',
        'weight_digest',
      ],
      dtype: 'float32',
    };
  }

  measurements(): Readonly<Record<string, number>> {
    const kilobyte = 1024;
    return {
      'memory/used_bytes': process.memoryUsage.rss(),
      'memory/peak_bytes': process.resourceUsage().maxRSS * kilobyte,
    };
  }

  async createModel(options: CreateModelOptions): Promise<CpuModel> {
    const { modelId, baseModel, seed, hasValueHead = false, initialCheckpoint } = options;
    const { models, baseModels, checkpointDir, baseUrl } = this.#options;
    const base = baseModels.find(({ name }) => name === baseModel);
    if (base === undefined) throw new NotFoundError('Base model', baseModel);
    const shared = { programs: this.#programs, yieldToSampling: this.#yieldToSampling };
    const load = async (loadOptions: LoadOptions): Promise<ModelEngine> => {
      if (initialCheckpoint === undefined) return await base.load(seed, loadOptions);
      const config = { ...base.config, hasValueHead };
      const weights = await readInitialWeights(checkpointDir, { uri: initialCheckpoint, config });
      return ModelEngine.fromWeights(weights, seed, loadOptions);
    };
    const model = new CpuModel({
      modelId,
      baseModel,
      seed,
      engine: await load({ ...shared, hasValueHead }),
      loadReference: () => load(shared),
      checkpoints: new CheckpointFolder(checkpointDir, modelId),
      baseUrl,
      onUnload: () => models.delete(modelId),
    });
    models.set(modelId, model);
    return model;
  }

  /** Requests during shutdown get 503 with Retry-After. */
  async close(): Promise<void> {
    await Promise.all([...this.#options.models.values()].map((model) => model.pause('abort')));
    await this.#options.onClose();
  }
}
