import { AgentLightningError, type Clock } from '@agentlightning/core';
import { didYouMean } from '@agentlightning/core/settings';
import type { RuntimeCapabilities } from '@agentlightning/core/training-runtime';
import type { RuntimeConnection } from '@agentlightning/runtime';
import type { pino } from 'pino';
import type { RuntimeConfig } from '../config/train-config.ts';
import { checkpointRoot } from '../runtime/checkpoint-root.ts';
import { type LaunchedRuntime, launchEmbeddedRuntime } from '../runtime/embedded-runtime.ts';
import { type OpenRuntime, openRuntime } from '../runtime/open-runtime.ts';
import type { ServerSecrets } from './server-secrets.ts';
import type { ServerSettings } from './settings/server-settings.ts';

/** Options of a {@link ServerRuntime}. */
export interface ServerRuntimeOptions {
  readonly settings: Pick<ServerSettings, 'runtime' | 'model' | 'gpus' | 'maxConcurrentRuns'>;
  readonly secrets: Pick<ServerSecrets, 'runtimeKey' | 'inferenceKey'>;
  readonly dataDir: string;
  /** Called when the runtime was started again, without the models that it served. */
  readonly onRestart: () => void;
  readonly log: pino.Logger;
  readonly clock: Clock;
}

type GrpcRuntimeConfig = Extract<RuntimeConfig, { readonly type: 'grpc' }>;

const restartDelayMs = 1000;
const connectTimeoutMs = 30_000;

/** The training runtime of a server: a configured one, or an embedded one that is started again when it ends. */
export class ServerRuntime {
  readonly #options: ServerRuntimeOptions;
  #launched: LaunchedRuntime | null = null;
  #config: Promise<GrpcRuntimeConfig>;
  #isClosing = false;

  constructor(options: ServerRuntimeOptions) {
    this.#options = options;
    const { runtime, gpus } = options.settings;
    if (runtime === null && gpus !== null && gpus > 0) throw noGpuRuntime(gpus);
    this.#config = runtime === null ? this.#launch() : Promise.resolve(this.#configured(runtime));
    // Awaited by every user.
    this.#config.catch(() => undefined);
  }

  /** Whether it is the embedded runtime. */
  get isEmbedded(): boolean {
    return this.#options.settings.runtime === null;
  }

  /** Where the runtime is, and the base model of runs. */
  async config(): Promise<GrpcRuntimeConfig> {
    return await this.#config;
  }

  /**
   * Checks that the runtime responds, and has the requested model, a GPU where one is required, and as many
   * models at a time as runs.
   *
   * @throws AgentLightningError RUNTIME_UNAVAILABLE, or CONFIG
   */
  async check(): Promise<RuntimeCapabilities> {
    const { model, gpus, maxConcurrentRuns } = this.#options.settings;
    const capabilities = await this.use(({ runtime }) => runtime.capabilities());
    const names = capabilities.models.map(({ name }) => name);
    if (model !== null && !names.includes(model)) throw unknownModel(model, names);
    if (gpus !== null && gpus > 0 && !capabilities.device.startsWith('cuda')) throw noGpu(gpus, capabilities.device);
    // 0: limited by memory only.
    const { maxModels = 0 } = capabilities;
    if (maxModels > 0 && maxConcurrentRuns > maxModels) throw tooManyRuns(maxConcurrentRuns, maxModels);
    return capabilities;
  }

  /** Connects to the runtime for the duration of an action. */
  async use<TResult>(
    action: (
      connection: Pick<OpenRuntime, 'inferenceKey'> & { readonly runtime: RuntimeConnection },
    ) => Promise<TResult>,
  ): Promise<TResult> {
    const config = await this.#config;
    const { dataDir, log } = this.#options;
    const onWait = (message: string): void => log.warn(message);
    const connection = await openRuntime(config, { dataDir, timeoutMs: connectTimeoutMs, onWait });
    try {
      return await action(connection);
    } finally {
      await connection.close();
    }
  }

  /** Ends an embedded runtime. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#config.catch(() => undefined);
    await this.#launched?.close();
  }

  async #launch(): Promise<GrpcRuntimeConfig> {
    const { dataDir, log, clock, onRestart } = this.#options;
    const launched = await launchEmbeddedRuntime({ checkpointDir: checkpointRoot(dataDir) });
    this.#launched = launched;
    void launched.died.then(async (error) => {
      if (this.#isClosing) return;
      log.error({ err: error }, 'the embedded runtime has ended, and is started again');
      this.#config = clock.sleep(restartDelayMs).then(() => this.#launch());
      await this.#config.then(onRestart).catch((cause: unknown) => log.error({ err: cause }, 'no runtime'));
    });
    return this.#withModel({ type: 'grpc', address: launched.address, apiKey: launched.apiKey });
  }

  #configured(address: string): GrpcRuntimeConfig {
    const { runtimeKey, inferenceKey } = this.#options.secrets;
    return this.#withModel({
      type: 'grpc',
      address,
      ...(runtimeKey === null ? {} : { apiKey: runtimeKey }),
      ...(inferenceKey === null ? {} : { inferenceApiKey: inferenceKey }),
    });
  }

  #withModel(config: GrpcRuntimeConfig): GrpcRuntimeConfig {
    const { model } = this.#options.settings;
    const name = model ?? (this.isEmbedded ? 'tiny-chat' : null);
    return name === null ? config : { ...config, model: name };
  }
}

function tooManyRuns(runs: number, models: number): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${runs} runs at a time were requested, and the runtime has at most ${models} models at a time`,
    remedy: `Set --max-concurrent-runs to at most ${models}, or raise the limit of the runtime.`,
  });
}

function noGpuRuntime(gpus: number): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${gpus} GPUs were requested, and no GPU runtime is configured: the embedded runtime uses the CPU`,
    remedy: 'Start the GPU runtime (`agentlightning-runtime serve`) and pass its address with --runtime host:port.',
  });
}

function noGpu(gpus: number, device: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${gpus} GPUs were requested, and the runtime computes on ${device}`,
    remedy: 'Start the GPU runtime on a machine with GPUs, or leave out --gpus.',
  });
}

function unknownModel(model: string, names: readonly string[]): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the runtime has no model "${model}"${didYouMean(model, names)}`,
    remedy: `Use one of its models: ${names.join(', ')}.`,
  });
}
