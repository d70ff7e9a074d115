import { createHash } from 'node:crypto';
import os from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { AgentLightningError, type Clock, NotFoundError } from '@agentlightning/core';
import { runtimeMetrics } from '@agentlightning/core/metrics';
import type { CreateModelOptions } from '@agentlightning/core/training-runtime';
import type { EngineCapabilities, RuntimeEngine } from '@agentlightning/runtime';
import { lossDefinitions } from '@agentlightning/runtime/internal/losses';
import type { BaseModel, LoadOptions } from '../base-models.ts';
import { type ModelCheckpoint, readCheckpoint } from '../checkpoint/model-checkpoint.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { parameterLayout } from '../model/parameters.ts';
import { ModelEngine } from '../model-engine.ts';
import { packageVersion } from '../package-files.ts';
import { RejectedRequestError } from '../runtime-errors.ts';
import { chatTemplateName } from '../text/chat-template.ts';
import { outputSize, specialTokenNames, vocabularySize } from '../text/vocabulary.ts';
import { CheckpointFolder } from './checkpoint-folder.ts';
import { CpuModel } from './cpu-model.ts';
import type { ModelDirectory } from './model-directory.ts';
import { yieldToSampling } from './yield-to-sampling.ts';

/** SHA-256 of the definition of the tokenizer, which has no file, in hexadecimal. */
const tokenizerSha256: string = sha256(
  JSON.stringify({ type: 'bytes', specialTokens: specialTokenNames, vocabularySize, outputSize }),
);

/** SHA-256 of the chat template's name, in hexadecimal: the template is code, and its name changes with it. */
const chatTemplateSha256: string = sha256(chatTemplateName);

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

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
      [runtimeMetrics.memoryUsed.name]: process.memoryUsage.rss(),
      [runtimeMetrics.memoryPeak.name]: process.resourceUsage().maxRSS * kilobyte,
    };
  }

  async createModel(options: CreateModelOptions): Promise<CpuModel> {
    const { modelId, baseModel, seed, hasValueHead = false, initialCheckpoint } = options;
    const { models, baseModels, checkpointDir, baseUrl } = this.#options;
    const base = baseModels.find(({ name }) => name === baseModel);
    if (base === undefined) throw new NotFoundError('Base model', baseModel);
    const shared = { yieldToSampling: this.#yieldToSampling };
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

/**
 * Reads the checkpoint that a new model begins with, of any model of the runtime.
 *
 * @param root - the parent folder of checkpoints
 * @throws AgentLightningError NOT_FOUND when it does not exist, RUNTIME_REJECTED when it is of another shape
 */
async function readInitialWeights(
  root: string,
  { uri, config }: { readonly uri: string; readonly config: ModelConfig },
): Promise<ModelCheckpoint> {
  const modelId = uri.split('/')[0] ?? '';
  if (!/^[A-Za-z0-9_-]{1,255}$/.test(modelId)) throw new NotFoundError('Checkpoint', uri);
  const checkpoint = await read(new CheckpointFolder(root, modelId).fileOfUri(uri), uri);
  if (isDeepStrictEqual(checkpoint.config, config)) return checkpoint;
  throw new RejectedRequestError(`Checkpoint ${uri} has another shape than the model that is to begin with it`, {
    field: 'initial_checkpoint',
  });
}

async function read(file: string, uri: string): Promise<ModelCheckpoint> {
  try {
    return await readCheckpoint(file);
  } catch (error) {
    const isMissing = AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND';
    throw isMissing ? new NotFoundError('Checkpoint', uri) : error;
  }
}
