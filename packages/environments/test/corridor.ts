import type { JsonValue } from '@agentlightning/core';
import { z } from 'zod';
import type {
  Environment,
  EnvironmentAction,
  EnvironmentFactory,
  EnvironmentStep,
  EnvironmentTool,
  OperationContext,
  ResetContext,
} from '../src/index.ts';

/** A corridor of rooms; the exit is the last one. */
export interface CorridorTask {
  readonly rooms: number;
}

const stepArguments = z.object({ by: z.int().min(1).max(3) });

/** The agent walks to the exit: 0.5 for each step forward, 1 at the exit; falling behind it ends the episode with 0. */
class Corridor implements Environment<CorridorTask> {
  #rooms = 0;
  #room = 0;
  #isClosed = true;

  async reset({ rooms }: CorridorTask, { signal }: ResetContext): Promise<string> {
    signal.throwIfAborted();
    [this.#rooms, this.#room, this.#isClosed] = [rooms, 0, false];
    return `Room 0 of ${rooms}.`;
  }

  tools(): readonly EnvironmentTool[] {
    const parameters = { type: 'object', properties: { by: { type: 'integer' } }, required: ['by'] };
    return [
      { name: 'walk', description: 'Walks forward.', parameters },
      { name: 'look', description: 'Shows the room.', parameters: { type: 'object', properties: {} } },
    ];
  }

  async step(action: EnvironmentAction, { signal }: OperationContext): Promise<EnvironmentStep> {
    signal.throwIfAborted();
    if (this.#isClosed) throw new Error('the corridor is closed');
    if (action.type === 'message') return { observation: 'You gave up.', reward: 0, done: true };
    if (action.name === 'look') return { observation: `Room ${this.#room}.`, reward: null, done: false };
    const parsed = stepArguments.safeParse(action.arguments);
    if (!parsed.success) return { observation: 'Walk by 1 to 3 rooms.', reward: null, done: false };
    this.#room += parsed.data.by;
    if (this.#room > this.#rooms) return { observation: 'You fell.', reward: 0, done: true };
    const isExit = this.#room === this.#rooms;
    return { observation: `Room ${this.#room}.`, reward: isExit ? 1 : 0.5, done: isExit };
  }

  async state(): Promise<JsonValue> {
    return { room: this.#room };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }
}

export const corridor: EnvironmentFactory<CorridorTask, true> = {
  name: 'corridor',
  givesRewards: true,
  create: () => new Corridor(),
  close: async () => {},
};

/** The corridor with some operations replaced. */
export function brokenCorridor(overrides: Partial<Environment<CorridorTask>>): EnvironmentFactory<CorridorTask, true> {
  return {
    ...corridor,
    create: () => {
      const inner = corridor.create();
      return {
        reset: (...args) => inner.reset(...args),
        tools: () => inner.tools(),
        step: (...args) => inner.step(...args),
        state: (context) => inner.state(context),
        close: () => inner.close(),
        ...overrides,
      };
    },
  };
}
