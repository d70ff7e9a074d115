import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  CreateModelOptions,
  ModelState,
  RuntimeFeature,
  TrainingBatch,
} from '@agentlightning/core/training-runtime';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { type ConnectRuntimeOptions, connectRuntime } from '../client/connect-runtime.ts';
import type { RuntimeConnection } from '../client/grpc-runtime.ts';
import type { RuntimeModel } from '../client/runtime-model.ts';
import { openRawClient, type RawClient } from './raw-client.ts';
import { openRawModel, type RawModel } from './raw-model.ts';
import type { LimitWishes, RuntimeConformanceOptions, RuntimeUnderTest } from './runtime-under-test.ts';
import { WireProxy } from './wire-proxy.ts';

const apiKey = 'conformance-key';

/** What the suite's runtime is tested with, defaults filled in. */
export type BenchSettings = Required<
  Pick<
    RuntimeConformanceOptions,
    'logprobTolerance' | 'lossTolerance' | 'isSeeded' | 'prompt' | 'lora' | 'largeBatchBytes'
  >
>;

/** What a test may want of its model. */
export interface ModelWishes extends Pick<CreateModelOptions, 'lora' | 'hasValueHead'> {
  readonly runtime?: RuntimeConnection;
  /** @default 1 */
  readonly seed?: number;
}

/** What may be seen of a model from outside. */
export interface Fingerprint {
  readonly step: ModelState['step'];
  readonly logprobs: readonly number[];
}

/** What the cases of the suite work with: one running runtime, and ways to reach it that end with the test. */
export class Bench {
  readonly apiKey: string = apiKey;
  /** What the runtime is tested with, defaults filled in. */
  readonly settings: BenchSettings;
  readonly #options: RuntimeConformanceOptions;
  #directory = '';
  #runtime: RuntimeUnderTest | undefined;
  #models = 0;

  constructor(options: RuntimeConformanceOptions) {
    this.#options = options;
    this.settings = {
      logprobTolerance: options.logprobTolerance ?? 1e-4,
      lossTolerance: options.lossTolerance ?? 1e-3,
      isSeeded: options.isSeeded ?? true,
      prompt: options.prompt ?? 'cab',
      lora: options.lora ?? { rank: 2 },
      largeBatchBytes: options.largeBatchBytes ?? 5 * 1024 * 1024,
    };
    beforeAll(async () => {
      this.#directory = await mkdtemp(join(tmpdir(), 'runtime-'));
      this.#runtime = await options.start({ directory: this.#directory, apiKey });
    });
    afterAll(async () => {
      await this.#runtime?.stop();
      await rm(this.#directory, { recursive: true, force: true });
    });
  }

  /** Where the runtime of the suite listens. */
  get address(): string {
    return this.#runtime?.address ?? '';
  }

  /** A connection to the runtime, or to wherever the options say. */
  async connect(options: Partial<ConnectRuntimeOptions> = {}): Promise<RuntimeConnection> {
    const runtime = await connectRuntime({ address: this.address, apiKey, ...options });
    onTestFinished(() => runtime.close());
    return runtime;
  }

  /** A fresh model, over a connection of its own unless one is given. */
  async model({ runtime, seed = 1, ...wishes }: ModelWishes = {}): Promise<RuntimeModel> {
    const connection = runtime ?? (await this.connect());
    const baseModel = await this.baseModelOf(connection);
    return connection.createModel({ baseModel, modelId: this.newModelId(), seed, ...wishes });
  }

  /** The base model that the suite trains. */
  async baseModelOf(runtime: RuntimeConnection): Promise<string> {
    const { models } = await runtime.capabilities();
    return this.#options.baseModel ?? models[0]?.name ?? '';
  }

  /** Whether the runtime has a feature. */
  async has(feature: RuntimeFeature): Promise<boolean> {
    const { features = [] } = await (await this.connect()).capabilities();
    return features.includes(feature);
  }

  /** The same operations gave the same: to the bit, unless the runtime cannot promise that. */
  expectSame(found: Fingerprint, expected: Fingerprint): void {
    if (this.#options.isDeterministic ?? true) {
      expect(found).toEqual(expected);
      return;
    }
    expect(found.step).toBe(expected.step);
    expect(found.logprobs).toHaveLength(expected.logprobs.length);
    const gaps = found.logprobs.map((logprob, at) => Math.abs(logprob - (expected.logprobs[at] ?? Number.NaN)));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(this.settings.logprobTolerance);
  }

  /** An id that no other test uses. */
  newModelId(): string {
    this.#models += 1;
    return `model-${this.#models}`;
  }

  /** The bare contract. */
  raw(key: string | undefined = apiKey, address: string = this.address): RawClient {
    const client = openRawClient(address, key);
    onTestFinished(() => client.close());
    return client;
  }

  /** A fresh model over the bare contract, with a session. */
  async rawModel(): Promise<RawModel> {
    return openRawModel(this.raw(), this.newModelId(), this.#options.baseModel);
  }

  /** A connection to the runtime, or to another address, that can be cut. */
  async proxy(address: string = this.address): Promise<WireProxy> {
    const proxy = await WireProxy.open(address);
    onTestFinished(() => proxy.close());
    return proxy;
  }

  /** A runtime of a test's own, to be killed. Give a directory to start on an earlier one's. */
  async startAnother(directory: string, wishes: LimitWishes = {}): Promise<RuntimeUnderTest> {
    const runtime = await this.#options.start({ directory, apiKey, ...wishes });
    onTestFinished(() => runtime.stop());
    return runtime;
  }

  /** An empty directory for a runtime of a test's own. */
  async directory(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'runtime-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    return directory;
  }
}

/** The loss that most cases train with. */
export const plainLoss = { name: 'importance_sampling', parameters: {} } as const;

/** One whole training step. */
export async function trainOnce(model: RuntimeModel, batch: TrainingBatch): Promise<void> {
  await model.forwardBackward(batch, plainLoss);
  const step = await model.optimStep({ learningRate: 0.05 });
  await step.result;
}

/** Everything of a model that may be seen from outside: its state, and what it thinks of a batch. */
export async function fingerprintOfModel(model: RuntimeModel, batch: TrainingBatch): Promise<Fingerprint> {
  const logprobs = await model.logprobs(batch);
  const { step } = await model.state();
  return { step, logprobs: logprobs.flatMap((array) => [...array]) };
}
