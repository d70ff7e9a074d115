import os from 'node:os';
import type { CreateModelOptions } from '@agentlightning/core';
import type { EngineCapabilities, RuntimeEngine } from '@agentlightning/runtime';
import { baseModels, loadBaseModel } from '../base-models.ts';
import { packageVersion } from '../package-files.ts';
import { lossDefinitions } from '../training/loss-spec.ts';
import { ProgramCache } from '../training/program-cache.ts';
import { CheckpointFolder } from './checkpoint-folder.ts';
import { CpuModel } from './cpu-model.ts';
import type { ModelDirectory } from './model-directory.ts';

/** What the engine works with. */
export interface CpuRuntimeEngineOptions {
  /** Where checkpoints lie, a folder for each model. */
  readonly checkpointDir: string;
  /** The models by id; shared with the model API. */
  readonly models: ModelDirectory;
  /** The base URL of the model API, up to and with `/v1`. */
  readonly baseUrl: string;
  /** Called when the server over the engine has stopped. */
  readonly onClose: () => Promise<void>;
}

/** The embedded runtime's arithmetic as the gRPC server wants it. */
export class CpuRuntimeEngine implements RuntimeEngine {
  readonly #options: CpuRuntimeEngineOptions;
  readonly #programs: ProgramCache = new ProgramCache();

  constructor(options: CpuRuntimeEngineOptions) {
    this.#options = options;
  }

  capabilities(): EngineCapabilities {
    return {
      runtimeVersion: packageVersion(),
      device: `cpu (${os.cpus()[0]?.model ?? os.arch()}, WebAssembly)`,
      models: baseModels.map(({ name, config }) => ({
        name,
        maxContext: config.maxContext,
        vocabSize: config.vocabularySize,
      })),
      losses: lossDefinitions,
      maxBatchTokens: 4_000_000,
    };
  }

  async createModel({ modelId, baseModel, seed }: CreateModelOptions): Promise<CpuModel> {
    const { models, checkpointDir, baseUrl } = this.#options;
    const model = new CpuModel({
      modelId,
      baseModel,
      seed,
      engine: await loadBaseModel(baseModel, seed, { programs: this.#programs }),
      checkpoints: new CheckpointFolder(checkpointDir, modelId),
      baseUrl,
      onUnload: () => models.delete(modelId),
    });
    models.set(modelId, model);
    return model;
  }

  async close(): Promise<void> {
    for (const model of this.#options.models.values()) await model.unload();
    await this.#options.onClose();
  }
}
