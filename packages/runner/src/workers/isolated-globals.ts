import { currentRollout } from '@agentlightning/core';

/** A function that all rollouts of a process share, by its holder and name. */
const sharedFunctions: readonly (readonly [holder: object, name: string])[] = [
  [globalThis, 'fetch'],
  [JSON, 'parse'],
  [JSON, 'stringify'],
];

/**
 * Keeps replacements of shared functions within the rollout that made them: an agent that assigns `globalThis.fetch` changes
 * its own rollout only. A property that is defined anew, as adapters do, is shared.
 */
export class IsolatedGlobals {
  readonly #replacements = new Map<string, Map<string, unknown>>();

  constructor() {
    for (const [holder, name] of sharedFunctions) this.#isolate(holder, name);
  }

  /** Forgets the replacements of an attempt that has ended. */
  ended(attemptId: string): void {
    this.#replacements.delete(attemptId);
  }

  #isolate(holder: object, name: string): void {
    let shared: unknown = Reflect.get(holder, name);
    Object.defineProperty(holder, name, {
      configurable: true,
      enumerable: Object.getOwnPropertyDescriptor(holder, name)?.enumerable ?? false,
      get: () => {
        // The current rollout costs more to find than that there are no replacements.
        const attemptId = this.#replacements.size === 0 ? undefined : currentRollout()?.attemptId;
        const own = attemptId === undefined ? undefined : this.#replacements.get(attemptId);
        return own?.has(name) ? own.get(name) : shared;
      },
      set: (value: unknown) => {
        const attemptId = currentRollout()?.attemptId;
        if (attemptId === undefined) {
          shared = value;
          return;
        }
        const own = this.#replacements.get(attemptId) ?? new Map<string, unknown>();
        this.#replacements.set(attemptId, own.set(name, value));
      },
    });
  }
}
