import { AgentLightningError, type JsonObject, type Store } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { Turns } from './turns.ts';
import type { WireModel } from './wire.ts';
import { wireModelsSchema } from './wire.ts';

/** The run that the rollouts of the 1.0 protocol belong to: its own, so that it touches those of nobody else. */
export const serverRunId = 'agl-server';

interface ServerState {
  readonly models: readonly WireModel[];
  /** How many finished rollouts were deleted. */
  readonly deletedCount: number;
}

/** Keeps in the store what the 1.0 protocol must know beyond its rollouts, so that a restart forgets nothing. */
export class ServerRun {
  readonly #store: Store;
  readonly #turns: Turns = new Turns();
  #isCreated = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Makes sure that the run exists. */
  async create(): Promise<void> {
    if (this.#isCreated) return;
    try {
      await this.#store.createRun({ runId: serverRunId, name: serverRunId, config: {} });
    } catch (error) {
      if (!AgentLightningError.isInstance(error) || error.code !== 'CONFLICT') throw error;
    }
    this.#isCreated = true;
  }

  /** The state; that of a new one when there is no run yet. */
  async read(): Promise<ServerState> {
    try {
      return stateFrom((await this.#store.getRun(serverRunId)).state);
    } catch (error) {
      if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return stateFrom({});
      throw error;
    }
  }

  /** Changes the state, and gives it back. */
  async change(next: (state: ServerState) => ServerState): Promise<ServerState> {
    return await this.#turns.take(serverRunId, async () => {
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
