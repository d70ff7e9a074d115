import { AgentLightningError, type TrainingRuntime, ValidationError } from '@agentlightning/core';
import type { CreateModelOptions, LoraConfig, RuntimeCapabilities } from '@agentlightning/core/training-runtime';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { BaseModel, GetCapabilitiesResponse } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import type { CreateModelRequestSchema } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { classifyCallError } from '../wire/grpc-error.ts';
import { OperationWatcher } from './operation-watcher.ts';
import type { RuntimeLink } from './runtime-link.ts';
import { GrpcModel, type RuntimeModel } from './runtime-model.ts';
import { type RuntimeMetric, type WatchMetricsOptions, watchMetrics } from './watch-metrics.ts';

/** A connection to a training runtime. */
export interface RuntimeConnection extends TrainingRuntime {
  /** Creates a model, or finds the one with this id and takes it over from an earlier session. */
  createModel(options: CreateModelOptions): Promise<RuntimeModel>;
  /**
   * Metrics of the runtime: the stored ones, then new ones. Needs the feature `metrics`.
   * @throws RuntimeError RUNTIME_REJECTED when the runtime does not have the feature
   */
  watchMetrics(options?: WatchMetricsOptions): AsyncIterable<RuntimeMetric>;
}

/** Dependencies of a connection. */
export interface GrpcRuntimeOptions {
  readonly link: RuntimeLink;
  readonly capabilities: GetCapabilitiesResponse;
  /** Closes the transport. */
  readonly disconnect: () => void;
  /** Aborting it ends all calls. */
  readonly closing: AbortController;
}

/** Maximum wait of `close` for the end of the session, in milliseconds. */
const goodbyeMs = 1_000;

/** A requested model. */
interface KnownModel {
  /** The request as text. */
  readonly wish: string;
  readonly model: Promise<GrpcModel>;
}

/** {@link RuntimeConnection} over gRPC. */
export class GrpcRuntime implements RuntimeConnection {
  readonly #options: GrpcRuntimeOptions;
  readonly #link: RuntimeLink;
  readonly #models = new Map<string, KnownModel>();
  readonly #watchers = new Set<OperationWatcher>();
  readonly #running: Promise<void>[] = [];

  constructor(options: GrpcRuntimeOptions) {
    this.#options = options;
    this.#link = options.link;
    this.#running.push(this.#sendHeartbeats());
  }

  async capabilities(): Promise<RuntimeCapabilities> {
    return decodeCapabilities(this.#options.capabilities);
  }

  async createModel(options: CreateModelOptions): Promise<RuntimeModel> {
    const { modelId } = options;
    const capabilities = decodeCapabilities(this.#options.capabilities);
    assertSameTokenizer(options, capabilities);
    assertInitialCheckpoint(options, capabilities);
    const wish = wishOf(options);
    const known = this.#models.get(modelId);
    const isOther = known !== undefined && known.wish !== wish;
    // The runtime validates that.
    if (isOther && (await usable(known.model)) !== undefined) return this.#createModel(options);
    // Recorded before any await: concurrent calls get the same model with the same numbers.
    const model = this.#findOrCreate(options);
    this.#models.set(modelId, { wish, model });
    return model;
  }

  watchMetrics(options: WatchMetricsOptions = {}): AsyncIterable<RuntimeMetric> {
    return watchMetrics(this.#link, options);
  }

  async close(): Promise<void> {
    const { disconnect, closing } = this.#options;
    if (closing.signal.aborted) return;
    const message = 'The connection to the training runtime was closed';
    const { runtime, sessionId } = this.#link;
    // An unreachable runtime does not need its session closed.
    await runtime.closeSession({ sessionId }, { timeoutMs: goodbyeMs }).catch(() => undefined);
    closing.abort(new RuntimeError({ reason: ErrorReason.CANCELLED, message }));
    await Promise.all(this.#running);
    disconnect();
  }

  async #findOrCreate(options: CreateModelOptions): Promise<GrpcModel> {
    const known = await usable(this.#models.get(options.modelId)?.model);
    return known ?? this.#createModel(options);
  }

  async #createModel(options: CreateModelOptions): Promise<GrpcModel> {
    const { modelId, baseModel, seed, lora, hasValueHead = false, initialCheckpoint = '' } = options;
    if (!Number.isInteger(seed) || seed < 0 || seed > 0xffff_ffff) {
      const message = `must be an integer from 0 to 4294967295, got ${seed}`;
      throw new ValidationError('model options', [{ path: 'seed', message }]);
    }
    const { training, policy, sessionId } = this.#link;
    const watcher = new OperationWatcher(this.#link, modelId);
    const made = watcher.expect(0);
    const request = { sessionId, modelId, baseModel, seed, ...loraOf(lora), hasValueHead, initialCheckpoint };
    const { operation } = await policy.run(() => training.createModel(request));
    this.#watchers.add(watcher);
    this.#running.push(watcher.follow());
    if (operation !== undefined) watcher.accepted(operation);
    await made;
    const { model } = await policy.run(() => training.getModel({ modelId }));
    return new GrpcModel(this.#link, watcher, { modelId, nextSeq: model?.nextSeq ?? 1 });
  }

  /** Sends heartbeats. A runtime that does not know the session has lost all pending operations. */
  async #sendHeartbeats(): Promise<void> {
    const { runtime, sessionId, clock, signal } = this.#link;
    const { heartbeatIntervalMs } = this.#options.capabilities;
    while (!signal.aborted) {
      try {
        await clock.sleep(heartbeatIntervalMs, signal);
        await runtime.heartbeat({ sessionId });
      } catch (error) {
        if (signal.aborted) return;
        const failure = classifyCallError(error);
        // Lost connections are handled by the watchers, which have the timeout.
        if (failure.kind === 'transport') continue;
        for (const watcher of this.#watchers) watcher.fail(failure.error);
        return;
      }
    }
  }
}

/** An older runtime would ignore the field, and begin with other weights. */
function assertInitialCheckpoint(
  { initialCheckpoint }: CreateModelOptions,
  { features = [] }: RuntimeCapabilities,
): void {
  if (initialCheckpoint === undefined || features.includes('initial_checkpoint')) return;
  throw new RuntimeError({
    reason: ErrorReason.INVALID,
    message: `initial_checkpoint needs the feature initial_checkpoint; this runtime has ${features.join(', ') || 'none'}`,
    field: 'initial_checkpoint',
  });
}

function loraOf(lora: LoraConfig | undefined): Pick<MessageInitShape<typeof CreateModelRequestSchema>, 'lora'> {
  if (lora === undefined) return {};
  return { lora: { rank: lora.rank, alpha: lora.alpha ?? 0, targetModules: [...(lora.targetModules ?? [])] } };
}

function wishOf({ baseModel, seed, lora, hasValueHead = false }: CreateModelOptions): string {
  return JSON.stringify([baseModel, seed, lora ?? null, hasValueHead]);
}

/** The model, if it was created and is still usable. */
async function usable(model: Promise<GrpcModel> | undefined): Promise<GrpcModel | undefined> {
  const made = await model?.catch(() => undefined);
  return made?.isUsable === true ? made : undefined;
}

/**
 * Compares the tokenizer or chat template that the client expects with the runtime's. A mismatch would not be noticed
 * later: training would run without learning.
 *
 * @throws AgentLightningError CONFLICT when both are known and differ
 */
function assertSameTokenizer(options: CreateModelOptions, capabilities: RuntimeCapabilities): void {
  const base = capabilities.models.find(({ name }) => name === options.baseModel);
  for (const [what, expected, found] of [
    ['tokenizer', options.tokenizerSha256, base?.tokenizerSha256],
    ['chat template', options.chatTemplateSha256, base?.chatTemplateSha256],
  ] as const) {
    if (expected === undefined || found === undefined || expected.toLowerCase() === found.toLowerCase()) continue;
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `The ${what} of ${options.baseModel} has SHA-256 ${found} in the runtime; expected ${expected}`,
      remedy: `Use the same ${what} on both sides: their token ids are incompatible.`,
      details: { baseModel: options.baseModel, expected, found },
    });
  }
}

/** Converts capabilities to the type of core. */
function decodeCapabilities(capabilities: GetCapabilitiesResponse): RuntimeCapabilities {
  const { runtimeVersion, device, deviceCount, dtype, maxModels, features, maxBatchTokens, maxMessageBytes } =
    capabilities;
  return {
    runtimeVersion,
    device,
    deviceCount,
    models: capabilities.baseModels.map(decodeBaseModel),
    losses: capabilities.losses.map(({ name, version, defaults }) => ({ name, version, defaults })),
    maxBatchTokens,
    maxMessageBytes,
    features,
    ...(dtype === '' ? {} : { dtype }),
    maxModels,
  };
}

function decodeBaseModel(model: BaseModel): RuntimeCapabilities['models'][number] {
  const { name, maxContext, vocabSize, maxLoraRank, loraTargetModules, readsImages, license } = model;
  const { tokenizerSha256, chatTemplateSha256, parameterCount } = model;
  return {
    name,
    maxContext,
    vocabSize,
    ...(tokenizerSha256 === '' ? {} : { tokenizerSha256 }),
    ...(chatTemplateSha256 === '' ? {} : { chatTemplateSha256 }),
    maxLoraRank,
    ...(parameterCount === 0n ? {} : { parameterCount: Number(parameterCount) }),
    loraTargetModules,
    readsImages,
    ...(license === '' ? {} : { license }),
  };
}
