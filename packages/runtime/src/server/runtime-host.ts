import type { Clock } from '@agentlightning/core';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { RuntimeLimits } from '../runtime-limits.ts';
import type { EngineCapabilities, EngineModel, RuntimeEngine } from './engine.ts';
import { HostedModel } from './hosted-model.ts';
import { MetricLog } from './metric-log.ts';
import type { ModelRequest } from './model-request.ts';
import { Mutex } from './mutex.ts';
import type { OperationRecord } from './operation-record.ts';
import { SessionRegistry } from './session-registry.ts';

/** Retry delay when the queue is full: about the duration of a small batch. */
const retryAfterMs = 250;

/** Counts the bytes of batches that are uploading, waiting or running. */
class InflightBudget {
  readonly #limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * Reserves memory for a batch. The next in sequence is always admitted: all others may be waiting for it.
   *
   * @returns releases the reservation; further calls have no effect
   * @throws RuntimeError QUEUE_FULL when the limit would be exceeded
   */
  take(bytes: number, isNextInLine: boolean): () => void {
    if (!isNextInLine && this.#usedBytes + bytes > this.#limitBytes) {
      throw new RuntimeError({
        reason: ErrorReason.QUEUE_FULL,
        message: `${this.#usedBytes} bytes of batches are in flight; ${bytes} more exceed the limit of ${this.#limitBytes}`,
        retryAfterMs,
      });
    }
    this.#usedBytes += bytes;
    let isTaken = true;
    return () => {
      if (isTaken) this.#usedBytes -= bytes;
      isTaken = false;
    };
  }
}

/** Dependencies of a host. */
export interface RuntimeHostOptions {
  readonly engine: RuntimeEngine;
  readonly limits: RuntimeLimits;
  readonly clock: Clock;
}

/** The state of a runtime server: its engine, sessions and models. */
export class RuntimeHost {
  readonly engine: RuntimeEngine;
  readonly capabilities: EngineCapabilities;
  readonly limits: RuntimeLimits;
  readonly sessions: SessionRegistry;
  readonly budget: InflightBudget;
  readonly metrics: MetricLog = new MetricLog();
  readonly #clock: Clock;
  readonly #mutex = new Mutex();
  readonly #models = new Map<string, HostedModel>();
  #stopReason: RuntimeError | null = null;

  constructor({ engine, limits, clock }: RuntimeHostOptions) {
    this.engine = engine;
    this.capabilities = engine.capabilities();
    this.limits = limits;
    this.sessions = new SessionRegistry(clock, limits.sessionTtlMs);
    this.budget = new InflightBudget(limits.maxInflightBytes);
    this.#clock = clock;
  }

  /** True until the server starts to stop. */
  get isServing(): boolean {
    return this.#stopReason === null;
  }

  /** Unix milliseconds. */
  now(): number {
    return this.#clock.now();
  }

  /**
   * Records activity of a session.
   * @throws RuntimeError SESSION_EXPIRED, or SHUTTING_DOWN when the server is stopping
   */
  touch(sessionId: string): void {
    if (this.#stopReason !== null) throw this.#stopReason;
    this.sessions.touch(sessionId);
  }

  /** @throws RuntimeError NOT_FOUND */
  model(modelId: string): HostedModel {
    const model = this.#models.get(modelId);
    if (model !== undefined) return model;
    throw new RuntimeError({
      reason: ErrorReason.NOT_FOUND,
      message: `Model "${modelId}" not found`,
      remedy:
        'Create it with CreateModel and resume from its last checkpoint with LoadCheckpoint: a runtime that was restarted, or that unloaded an abandoned model, has its checkpoints only.',
    });
  }

  /** The capabilities of the base of a loaded model. */
  baseModel(name: string): EngineCapabilities['models'][number] {
    const found = this.capabilities.models.find((model) => model.name === name);
    if (found !== undefined) return found;
    throw new RuntimeError({ reason: ErrorReason.INTERNAL, message: `Base model ${name} does not exist any more` });
  }

  /** A model for a session that changes it. @throws RuntimeError */
  ownedModel(sessionId: string, modelId: string): HostedModel {
    this.touch(sessionId);
    const model = this.model(modelId);
    model.assertOwner(sessionId);
    return model;
  }

  /** A model's engine. @throws RuntimeError PRECONDITION when it does not exist (yet) */
  engineModel(modelId: string): EngineModel {
    return assertMade(this.model(modelId));
  }

  /** Creates a model as its operation 0, or finds it, and assigns it to the session. */
  createModel(sessionId: string, request: ModelRequest): OperationRecord {
    this.touch(sessionId);
    const found = this.#models.get(request.modelId);
    const model = found === undefined || found.hasFailedToStart ? this.#addModel(request) : found;
    const difference = model.differenceTo(request);
    if (difference !== undefined) {
      throw new RuntimeError({
        reason: ErrorReason.CONFLICT,
        message: `Model "${request.modelId}" exists with ${difference}`,
        remedy: 'Choose another model id, or request the model with its original options.',
      });
    }
    model.assertLiving();
    model.takeOver(sessionId);
    return model.operation(0);
  }

  /** Unloads models without an owner for longer than the limit. */
  async unloadAbandoned(): Promise<void> {
    const { abandonedModelTtlMs } = this.limits;
    for (const model of [...this.#models.values()]) {
      const abandonedForMs = model.abandonedForMs((sessionId) => this.sessions.livesUntilMs(sessionId));
      if (abandonedForMs < abandonedModelTtlMs) continue;
      await this.unloadModel(model, `, because its session ended ${Math.round(abandonedForMs)} ms ago`);
    }
  }

  /**
   * Cancels waiting operations, lets the running one finish, and frees the model. Its id is free when this resolves.
   * @param because - reason for later requests; follows "was unloaded"
   */
  async unloadModel(model: HostedModel, because = ''): Promise<void> {
    await model.end(
      new RuntimeError({
        reason: ErrorReason.NOT_FOUND,
        message: `Model "${model.modelId}" was unloaded${because}`,
        remedy: 'Create it again with CreateModel and resume from its last checkpoint with LoadCheckpoint.',
      }),
    );
    // A concurrent call waits for the same end; the model is freed once.
    if (this.#models.get(model.modelId) !== model) return;
    this.#models.delete(model.modelId);
    // In sequence, so that a new model of the same id is created after the old one is freed.
    await this.#mutex.run(async () => model.engine?.unload());
  }

  /** Rejects new calls, lets the running operation finish, and ends the engine. */
  async stop(): Promise<void> {
    const reason = new RuntimeError({
      reason: ErrorReason.SHUTTING_DOWN,
      message: 'The runtime is shutting down',
    });
    this.#stopReason = reason;
    await Promise.all([...this.#models.values()].map((model) => model.end(reason)));
    await this.engine.close();
  }

  #assertModelLimit(): void {
    const { maxModels = 0 } = this.capabilities;
    // A model whose creation failed does not count: its id is free, and it cannot be unloaded.
    const living = [...this.#models.values()].filter((model) => !model.hasFailedToStart).length;
    if (maxModels === 0 || living < maxModels) return;
    throw new RuntimeError({
      reason: ErrorReason.PRECONDITION,
      message: `${living} models are loaded; this runtime allows at most ${maxModels}`,
      remedy: 'Unload one, or raise the limit of the runtime.',
    });
  }

  #addModel(request: ModelRequest): HostedModel {
    this.#assertModelLimit();
    const shared = { ...this.limits, clock: this.#clock, mutex: this.#mutex };
    const model = new HostedModel({ ...request, ...shared });
    this.#models.set(request.modelId, model);
    model.accept(0, {
      fingerprint: '',
      addsGradients: false,
      execute: async () => {
        model.engine = await this.engine.createModel(request);
        return { case: 'model', value: model.info() };
      },
    });
    return model;
  }
}

/** @throws RuntimeError PRECONDITION when the model does not exist yet or failed to start */
export function assertMade(model: HostedModel): EngineModel {
  if (model.engine !== null) return model.engine;
  throw new RuntimeError({
    reason: ErrorReason.PRECONDITION,
    message: `Model "${model.modelId}" does not exist: operation 0 has failed or has not ended`,
  });
}

/** @throws RuntimeError DATA_LOSS when the model's state is corrupted */
export function assertSound(model: HostedModel): EngineModel {
  const engine = assertMade(model);
  if (!engine.state().isCorrupted) return engine;
  throw new RuntimeError({
    reason: ErrorReason.DATA_LOSS,
    message: `The state of model "${model.modelId}" is corrupted`,
  });
}
