import type { CreateModelOptions } from '@agentlightning/core/training-runtime';
import type { EngineCapabilities, EngineModel, RuntimeEngine } from '../../src/index.ts';
import { type BagEndpoint, serveBags } from './bag-endpoint.ts';
import { BagModel } from './bag-model.ts';
import { vocabSize } from './bag-policy.ts';

const everyLoss = { entropy_coefficient: 0, kl_coefficient: 0, kl_estimator: 3 };

/** The capabilities of the test engine. */
export const bagCapabilities: EngineCapabilities = {
  runtimeVersion: '1.0.0-test',
  device: 'cpu',
  models: [{ name: 'bag', maxContext: 256, vocabSize, tokenizerSha256: 'ab'.repeat(32) }],
  losses: [
    { name: 'cross_entropy', version: 1, defaults: everyLoss },
    { name: 'importance_sampling', version: 1, defaults: everyLoss },
    {
      name: 'ppo',
      version: 1,
      defaults: { ...everyLoss, clip_low: 0.2, clip_high: 0.2, dual_clip: 3 },
    },
    { name: 'cispo', version: 1, defaults: { ...everyLoss, clip_low: 1, clip_high: 3 } },
    { name: 'gspo', version: 1, defaults: { ...everyLoss, clip_low: 3e-4, clip_high: 4e-4 } },
    { name: 'dro', version: 1, defaults: { ...everyLoss, beta: 0.05 } },
  ],
  maxBatchTokens: 1_000_000,
  features: ['reference_logprobs', 'export', 'metrics', 'progress', 'pause'],
};

/** An engine of test policies, with checkpoints in a directory and an endpoint. */
export class BagEngine implements RuntimeEngine {
  readonly #models: Map<string, BagModel>;
  readonly #directory: string;
  readonly #endpoint: BagEndpoint;

  private constructor(directory: string, models: Map<string, BagModel>, endpoint: BagEndpoint) {
    this.#directory = directory;
    this.#models = models;
    this.#endpoint = endpoint;
  }

  static async open(directory: string): Promise<BagEngine> {
    const models = new Map<string, BagModel>();
    return new BagEngine(directory, models, await serveBags(models));
  }

  capabilities(): EngineCapabilities {
    return bagCapabilities;
  }

  async createModel(options: CreateModelOptions): Promise<EngineModel> {
    const place = { directory: this.#directory, baseUrl: this.#endpoint.baseUrl };
    const model = new BagModel(options, place);
    this.#models.set(options.modelId, model);
    return model;
  }

  close(): Promise<void> {
    return this.#endpoint.close();
  }
}
