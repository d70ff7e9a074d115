import type { Clock } from '@agentlightning/core';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { RuntimeLimits } from '../runtime-limits.ts';
import type { EngineCapabilities, EngineModel, RuntimeEngine } from './engine.ts';
import { HostedModel } from './hosted-model.ts';
import { InflightBudget } from './inflight-budget.ts';
import { MetricLog } from './metric-log.ts';
import type { ModelRequest } from './model-request.ts';
import type { OperationRecord } from './operation-record.ts';
import { SessionRegistry } from './session-registry.ts';
import { TurnTaking } from './turn-taking.ts';

/** What a host is made of. */
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
  readonly #turns = new TurnTaking();
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

  /** True until the server begins to stop. */
  get isServing(): boolean {
    return this.#stopReason === null;
  }

  /** Unix milliseconds. */
  now(): number {
    return this.#clock.now();
  }

  /**
   * Notes that a session is alive.
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
        'Make it with CreateModel and resume from its last checkpoint with LoadCheckpoint: a runtime that was restarted, or whose model nobody owned for long, has the checkpoints only.',
    });
  }

  /** What the capabilities say of a base model that a living model was made of. */
  baseModel(name: string): EngineCapabilities['models'][number] {
    const found = this.capabilities.models.find((model) => model.name === name);
    if (found !== undefined) return found;
    throw new RuntimeError({ reason: ErrorReason.INTERNAL, message: `Base model ${name} is not there any more` });
  }

  /** A model for a session that wants to change it. @throws RuntimeError */
  ownedModel(sessionId: string, modelId: string): HostedModel {
    this.touch(sessionId);
    const model = this.model(modelId);
    model.assertOwner(sessionId);
    return model;
  }

  /** A model's engine. @throws RuntimeError PRECONDITION when it is not there (yet) */
  engineModel(modelId: string): EngineModel {
    return assertMade(this.model(modelId));
  }

  /** Makes a model as its operation 0, or finds it, and gives it to the session. */
  createModel(sessionId: string, request: ModelRequest): OperationRecord {
    this.touch(sessionId);
    const found = this.#models.get(request.modelId);
    const model = found === undefined || found.hasFailedToStart ? this.#addModel(request) : found;
    const difference = model.differenceTo(request);
    if (difference !== undefined) {
      throw new RuntimeError({
        reason: ErrorReason.CONFLICT,
        message: `Model "${request.modelId}" is there with ${difference}`,
        remedy: 'Choose another model id, or ask for the model as it was made.',
      });
    }
    model.assertLiving();
    model.takeOver(sessionId);
    return model.operation(0);
  }

  /** Unloads the models that no session has owned for as long as the limits say. */
  async unloadAbandoned(): Promise<void> {
    const { abandonedModelTtlMs } = this.limits;
    for (const model of [...this.#models.values()]) {
      const abandonedForMs = model.abandonedForMs((sessionId) => this.sessions.livesUntilMs(sessionId));
      if (abandonedForMs < abandonedModelTtlMs) continue;
      await this.unloadModel(model, `, because its session ended ${Math.round(abandonedForMs)} ms ago`);
    }
  }

  /**
   * Cancels what waits, lets what runs finish, and frees the model. Its id is free when this resolves.
   * @param because - why, for those who still ask for it; follows "was unloaded"
   */
  async unloadModel(model: HostedModel, because = ''): Promise<void> {
    await model.end(
      new RuntimeError({
        reason: ErrorReason.NOT_FOUND,
        message: `Model "${model.modelId}" was unloaded${because}`,
        remedy: 'Make it again with CreateModel and resume from its last checkpoint with LoadCheckpoint.',
      }),
    );
    // Who asked twice waits for the same end, and frees once.
    if (this.#models.get(model.modelId) !== model) return;
    this.#models.delete(model.modelId);
    // In its turn, so that a new model of the same id is made after the old one is gone.
    await this.#turns.run(async () => model.engine?.unload());
  }

  /** Takes nothing more in, lets what runs finish, and ends the engine. */
  async stop(): Promise<void> {
    const reason = new RuntimeError({
      reason: ErrorReason.SHUTTING_DOWN,
      message: 'The runtime is shutting down',
    });
    this.#stopReason = reason;
    await Promise.all([...this.#models.values()].map((model) => model.end(reason)));
    await this.engine.close();
  }

  #assertRoom(): void {
    const { maxModels = 0 } = this.capabilities;
    // One that could not be made takes no room: its id is free, and nobody can unload it.
    const living = [...this.#models.values()].filter((model) => !model.hasFailedToStart).length;
    if (maxModels === 0 || living < maxModels) return;
    throw new RuntimeError({
      reason: ErrorReason.PRECONDITION,
      message: `${living} models are there; this runtime has at most ${maxModels} at a time`,
      remedy: 'Unload one, or raise the limit of the runtime.',
    });
  }

  #addModel(request: ModelRequest): HostedModel {
    this.#assertRoom();
    const shared = { ...this.limits, clock: this.#clock, turns: this.#turns };
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

/** @throws RuntimeError PRECONDITION when the model could not be made, or is being made */
export function assertMade(model: HostedModel): EngineModel {
  if (model.engine !== null) return model.engine;
  throw new RuntimeError({
    reason: ErrorReason.PRECONDITION,
    message: `Model "${model.modelId}" is not there: operation 0 has failed or is not done`,
  });
}

/** @throws RuntimeError DATA_LOSS when the model's state is lost or half-changed */
export function assertSound(model: HostedModel): EngineModel {
  const engine = assertMade(model);
  if (!engine.state().isCorrupted) return engine;
  throw new RuntimeError({
    reason: ErrorReason.DATA_LOSS,
    message: `The state of model "${model.modelId}" is lost or half-changed`,
  });
}
