import { AgentLightningError, type JsonObject, type Store } from '@agentlightning/core';
import { isJsonObject, KeyedMutex } from '@agentlightning/core/internal';
import type { WireModel } from './wire.ts';
import { wireModelsSchema } from './wire.ts';

/** The run of all rollouts of the 1.0 protocol, which isolates them from other rollouts in the store. */
export const serverRunId = 'agl-server';

interface ServerState {
  readonly models: readonly WireModel[];
  /** Number of deleted finished rollouts. */
  readonly deletedCount: number;
}

/** Persists protocol state beyond rollouts in the store, across restarts. */
export class ServerRun {
  readonly #store: Store;
  readonly #mutex: KeyedMutex = new KeyedMutex();
  #isCreated = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Creates the run if it does not exist. */
  async create(): Promise<void> {
    if (this.#isCreated) return;
    try {
      await this.#store.createRun({ runId: serverRunId, name: serverRunId, config: {} });
    } catch (error) {
      if (!AgentLightningError.isInstance(error) || error.code !== 'CONFLICT') throw error;
    }
    this.#isCreated = true;
  }

  /** The state; the initial one if the run does not exist. */
  async read(): Promise<ServerState> {
    try {
      return stateFrom((await this.#store.getRun(serverRunId)).state);
    } catch (error) {
      if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return stateFrom({});
      throw error;
    }
  }

  /** Updates the state, and returns it. */
  async change(next: (state: ServerState) => ServerState): Promise<ServerState> {
    return await this.#mutex.runExclusive(serverRunId, async () => {
      await this.create();
      const { state } = await this.#store.getRun(serverRunId);
      const { models, deletedCount } = next(stateFrom(state));
      await this.#store.updateRun(serverRunId, {
        state: { ...state, models: models.map((model) => ({ ...model })), deleted_count: deletedCount },
      });
      return { models, deletedCount };
    });
  }
}

function stateFrom(state: JsonObject): ServerState {
  const models = wireModelsSchema.safeParse(state.models);
  const deletedCount = isJsonObject(state) && typeof state.deleted_count === 'number' ? state.deleted_count : 0;
  return { models: models.success ? models.data : [], deletedCount };
}
