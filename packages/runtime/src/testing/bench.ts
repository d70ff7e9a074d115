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

/** Settings of the suite, defaults filled in. */
export type BenchSettings = Required<
  Pick<
    RuntimeConformanceOptions,
    'logprobTolerance' | 'lossTolerance' | 'isSeeded' | 'prompt' | 'lora' | 'largeBatchBytes'
  >
>;

/** Options of a test model. */
export interface ModelWishes extends Pick<CreateModelOptions, 'lora' | 'hasValueHead' | 'initialCheckpoint'> {
  readonly runtime?: RuntimeConnection;
  /** @default 1 */
  readonly seed?: number;
}

/** The observable state of a model. */
export interface Fingerprint {
  readonly step: ModelState['step'];
  readonly logprobs: readonly number[];
}

/** The fixture of the suite: one running runtime, and connections that end with the test. */
export class Bench {
  readonly apiKey: string = apiKey;
  /** Settings of the suite, defaults filled in. */
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

  /** The address of the suite's runtime. */
  get address(): string {
    return this.#runtime?.address ?? '';
  }

  /** Connects to the runtime, or to the given address. */
  async connect(options: Partial<ConnectRuntimeOptions> = {}): Promise<RuntimeConnection> {
    const runtime = await connectRuntime({ address: this.address, apiKey, ...options });
    onTestFinished(() => runtime.close());
    return runtime;
  }

  /** Creates a model, over a separate connection unless one is given. */
  async model({ runtime, seed = 1, ...wishes }: ModelWishes = {}): Promise<RuntimeModel> {
    const connection = runtime ?? (await this.connect());
    const baseModel = await this.baseModelOf(connection);
    const usual = await this.usualOptions();
    return connection.createModel({ baseModel, modelId: this.newModelId(), seed, ...usual, ...wishes });
  }

  /** The options of every model: LoRA, where the runtime trains nothing else. */
  async usualOptions(): Promise<Pick<CreateModelOptions, 'lora'>> {
    return (await this.has('lora_only')) ? { lora: this.settings.lora } : {};
  }

  /** The temperatures of training data that the runtime accepts. */
  async temperatures(): Promise<readonly number[]> {
    return (await this.has('unit_temperature')) ? [1] : [1, 0.7];
  }

  /** Whether a loss of the runtime has the parameter. */
  async hasParameter(loss: string, parameter: string): Promise<boolean> {
    const { losses } = await (await this.connect()).capabilities();
    return Object.hasOwn(losses.find(({ name }) => name === loss)?.defaults ?? {}, parameter);
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

  /** Asserts equal results of the same operations: bitwise, unless the runtime is not deterministic. */
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

  /** A unique id. */
  newModelId(): string {
    this.#models += 1;
    return `model-${this.#models}`;
  }

  /** A client of the bare contract. */
  raw(key: string | undefined = apiKey, address: string = this.address): RawClient {
    const client = openRawClient(address, key);
    onTestFinished(() => client.close());
    return client;
  }

  /** Creates a model over the bare contract, with a session. */
  async rawModel(): Promise<RawModel> {
    const { lora } = await this.usualOptions();
    return openRawModel(this.raw(), this.newModelId(), { base: this.#options.baseModel, lora });
  }

  /** A connection to the runtime, or to another address, that can be cut. */
  async proxy(address: string = this.address): Promise<WireProxy> {
    const proxy = await WireProxy.open(address);
    onTestFinished(() => proxy.close());
    return proxy;
  }

  /** Starts a separate runtime to be killed. Pass a directory to reuse an earlier one's. */
  async startAnother(directory: string, wishes: LimitWishes = {}): Promise<RuntimeUnderTest> {
    const runtime = await this.#options.start({ directory, apiKey, ...wishes });
    onTestFinished(() => runtime.stop());
    return runtime;
  }

  /** An empty directory for a separate runtime. */
  async directory(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'runtime-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    return directory;
  }
}

/** The default loss of the cases. */
export const plainLoss = { name: 'importance_sampling', parameters: {} } as const;

/** One whole training step. */
export async function trainOnce(model: RuntimeModel, batch: TrainingBatch): Promise<void> {
  await model.forwardBackward(batch, plainLoss);
  const step = await model.optimStep({ learningRate: 0.05 });
  await step.result;
}

/** The observable state of a model: its metadata and its log-probabilities of a batch. */
export async function fingerprintOfModel(model: RuntimeModel, batch: TrainingBatch): Promise<Fingerprint> {
  const logprobs = await model.logprobs(batch);
  const { step } = await model.state();
  return { step, logprobs: logprobs.flatMap((array) => [...array]) };
}
