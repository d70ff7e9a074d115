import { AgentLightningError, type Clock } from '@agentlightning/core';
import { addressText, backoffMs, errorMessage } from '@agentlightning/core/internal';
import type { RuntimeCapabilities } from '@agentlightning/core/training-runtime';
import type { RuntimeConnection } from '@agentlightning/runtime';
import type { pino } from 'pino';
import { defaultTinkerRank, type ResolvedRuntime } from '../config/sections/runtime-config.ts';
import { checkpointRoot } from '../runtime/checkpoint-root.ts';
import { chooseBaseModel } from '../runtime/choose-base-model.ts';
import { launchEmbeddedRuntime } from '../runtime/embedded-runtime.ts';
import { launchGpuRuntime } from '../runtime/gpu-runtime.ts';
import type { LaunchedRuntime } from '../runtime/launch-runtime.ts';
import { type OpenRuntime, openRuntime } from '../runtime/open-runtime.ts';
import { launchTinkerRuntime } from '../runtime/tinker-runtime.ts';
import { type RuntimeChoice, tooFewGpus } from './choose-runtime.ts';
import type { ServerFolder, ServerSecrets } from './server-folder.ts';
import type { ServerSettings } from './settings/server-settings.ts';

/** Options of a {@link ServerRuntime}. */
export interface ServerRuntimeOptions {
  readonly choice: RuntimeChoice;
  readonly settings: Pick<ServerSettings, 'model' | 'loraRank' | 'gpus' | 'maxConcurrentRuns'>;
  readonly secrets: Pick<ServerSecrets, 'runtimeKey' | 'inferenceKey'>;
  readonly folder: Pick<ServerFolder, 'path' | 'runtimeLogFile'>;
  /** Called when the runtime was started again, without the models that it served. */
  readonly onRestart: () => void;
  readonly log: pino.Logger;
  readonly clock: Clock;
  /** Starts the runtime. @default as `choice` says */
  readonly start?: () => Promise<LaunchedRuntime>;
}

type GrpcRuntimeConfig = Extract<ResolvedRuntime, { readonly type: 'grpc' }>;

const restartBackoff = { baseDelayMs: 1000, maxDelayMs: 60_000 };

/** A runtime that has run for so long, in milliseconds, starts the backoff again. */
const steadyMs = 60_000;

const connectTimeoutMs = 30_000;

/** The training runtime of a server: a running one, or one that is started here, and again when it ends. */
export class ServerRuntime {
  readonly #options: ServerRuntimeOptions;
  #launched: LaunchedRuntime | null = null;
  /** Pending while the runtime starts, or is started again. */
  #config: Promise<GrpcRuntimeConfig>;
  /** Why the runtime is down; null while it is up, or starts for the first time. */
  #failure: AgentLightningError | null = null;
  readonly #closing = new AbortController();

  constructor(options: ServerRuntimeOptions) {
    this.#options = options;
    const { choice } = options;
    this.#config = choice.type === 'running' ? Promise.resolve(this.#configured(choice.address)) : this.#launch();
    // Awaited by every user.
    this.#config.catch(() => undefined);
  }

  /** Whether it is the embedded runtime. */
  get isEmbedded(): boolean {
    return this.#options.choice.type === 'embedded';
  }

  /** Whether it runs, as far as this process knows. */
  get isUp(): boolean {
    return this.#failure === null;
  }

  /**
   * Where the runtime is, and the base model of runs.
   *
   * @throws AgentLightningError RUNTIME_UNAVAILABLE while it is started again
   */
  async config(): Promise<GrpcRuntimeConfig> {
    if (this.#failure !== null) throw isDown(this.#failure);
    return await this.#config;
  }

  /** Waits until the runtime runs. @throws the reason of the signal */
  async whenUp(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    await Promise.race([this.#config, aborted]);
  }

  /**
   * Checks that the runtime responds, and has the requested model, LoRA and GPUs, and as many models at a time as runs.
   *
   * @throws AgentLightningError RUNTIME_UNAVAILABLE, or CONFIG
   */
  async check(): Promise<RuntimeCapabilities> {
    const { gpus, loraRank, maxConcurrentRuns } = this.#options.settings;
    const capabilities = await this.use(({ runtime }) => runtime.capabilities());
    const { models, device, deviceCount = 0, maxModels = 0, features = [] } = capabilities;
    if (loraRank === null && this.#options.choice.type === 'running' && features.includes('lora_only'))
      throw onlyLora(device);
    const { model } = await this.#config;
    const baseModel = chooseBaseModel(model, capabilities);
    const known = models.find(({ name }) => name === baseModel);
    if (known !== undefined && loraRank !== null && loraRank > (known.maxLoraRank ?? 0)) throw noLora(loraRank, known);
    // A runtime on a GPU that does not report the number has one.
    const count = Math.max(deviceCount, device.startsWith('cuda') ? 1 : 0);
    if (gpus !== null && gpus > count) throw tooFewGpus(gpus, `the runtime trains on ${count} (${device})`);
    // 0: limited by memory only.
    if (maxModels > 0 && maxConcurrentRuns > maxModels) throw tooManyRuns(maxConcurrentRuns, maxModels);
    return capabilities;
  }

  /** Connects to the runtime for the duration of an action. */
  async use<TResult>(
    action: (
      connection: Pick<OpenRuntime, 'inferenceKey'> & { readonly runtime: RuntimeConnection },
    ) => Promise<TResult>,
  ): Promise<TResult> {
    const config = await this.config();
    const { folder, log } = this.#options;
    const onWait = (message: string): void => log.warn(message);
    const connection = await openRuntime(config, { dataDir: folder.path, timeoutMs: connectTimeoutMs, onWait });
    try {
      return await action(connection);
    } finally {
      await connection.close();
    }
  }

  /** Ends a runtime that was started here. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#config.catch(() => undefined);
    await this.#launched?.close();
  }

  async #launch(failures = 0): Promise<GrpcRuntimeConfig> {
    const { clock } = this.#options;
    const launched = await (this.#options.start?.() ?? this.#start());
    const startMs = clock.now();
    this.#launched = launched;
    void launched.died.then((error) => {
      if (this.#closing.signal.aborted) return;
      this.#restart(error, clock.now() - startMs >= steadyMs ? 0 : failures);
    });
    return this.#withModel({ type: 'grpc', address: launched.address, apiKey: launched.apiKey });
  }

  /** Starts a runtime that has ended again, with backoff until it runs. */
  #restart(cause: AgentLightningError, failures: number): void {
    const { log, clock, onRestart } = this.#options;
    const { signal } = this.#closing;
    const attempt = async (error: AgentLightningError, failed: number): Promise<GrpcRuntimeConfig> => {
      this.#failure = error;
      const delayMs = backoffMs(restartBackoff, failed);
      log.error({ err: error, delayMs }, 'the runtime has ended, and is started again');
      await clock.sleep(delayMs, signal);
      try {
        const config = await this.#launch(failed);
        this.#failure = null;
        onRestart();
        return config;
      } catch (next) {
        return await attempt(AgentLightningError.isInstance(next) ? next : isDown(next), failed + 1);
      }
    };
    this.#config = attempt(cause, failures + 1);
    // Rejected when the server closes.
    this.#config.catch(() => undefined);
  }

  #start(): Promise<LaunchedRuntime> {
    const { choice, folder, log } = this.#options;
    const checkpointDir = checkpointRoot(folder.path);
    if (choice.type === 'tinker') return this.#startTinker(choice, checkpointDir);
    if (choice.type !== 'gpu') return launchEmbeddedRuntime({ checkpointDir });
    const { python, gpus } = choice;
    const logFile = folder.runtimeLogFile;
    log.info({ python, gpus, model: choice.model, logFile }, 'the GPU runtime is starting');
    // Clients request the model by its name.
    const model = `${gpuModelName(choice.model)}=${choice.model.replace(/^[^=]*=/, '')}`;
    return launchGpuRuntime({ python, model, gpus, arguments: choice.arguments, checkpointDir, logFile });
  }

  #startTinker(
    choice: Extract<RuntimeChoice, { readonly type: 'tinker' }>,
    checkpointDir: string,
  ): Promise<LaunchedRuntime> {
    const { log, secrets } = this.#options;
    const { baseUrl, model } = choice;
    log.info({ server: addressText(baseUrl), model }, 'the runtime over a Tinker server is starting');
    const key = secrets.runtimeKey === null ? {} : { apiKey: secrets.runtimeKey };
    return launchTinkerRuntime(
      { type: 'tinker', baseUrl, model, ...key },
      { checkpointDir, arguments: choice.arguments },
    );
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
    const { choice, settings } = this.#options;
    // A Tinker server trains adapters only.
    const loraRank = settings.loraRank ?? (choice.type === 'tinker' ? defaultTinkerRank : null);
    const name = choice.type === 'gpu' ? gpuModelName(choice.model) : settings.model;
    const model = name ?? (this.isEmbedded ? 'tiny-chat' : null);
    return {
      ...config,
      ...(model === null ? {} : { model }),
      ...(loraRank === null ? {} : { lora: { rank: loraRank } }),
    };
  }
}

function isDown(cause: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `the runtime has ended, and is started again: ${errorText(cause)}`,
    remedy: 'Retry later; the log of the server has the output of the runtime.',
    cause,
  });
}

function errorText(cause: unknown): string {
  return errorMessage(cause).replace(/^\[\w+\] /, '');
}

/** The name in `[NAME=]SOURCE`. */
function gpuModelName(model: string): string {
  return model.split('=')[0] ?? model;
}

function tooManyRuns(runs: number, models: number): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${runs} runs at a time were requested, and the runtime has at most ${models} models at a time`,
    remedy: `Set --max-concurrent-runs to at most ${models}, or raise the limit of the runtime.`,
  });
}

function onlyLora(device: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the runtime on ${device} trains LoRA adapters only, and no rank is set`,
    remedy: 'Pass a rank, such as --lora-rank 32.',
  });
}

function noLora(rank: number, { name, maxLoraRank = 0 }: RuntimeCapabilities['models'][number]): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `LoRA of rank ${rank} was requested, and model ${name} of the runtime supports rank ${maxLoraRank} at most`,
    remedy: maxLoraRank === 0 ? 'Leave out --lora-rank, or use the GPU runtime.' : 'Lower --lora-rank.',
  });
}
