import type { Agent } from '../agent.ts';

/** Grace period for an agent after the abort of its signal, in milliseconds. */
const abortGraceMs = 2000;

/** Finds agents that ignore the abort of their signal. */
export class AgentWatch {
  readonly #onStuck: (rolloutId: string) => void;

  /** @param onStuck - called with the rollout of an agent that still runs after its signal has aborted */
  constructor(onStuck: (rolloutId: string) => void) {
    this.#onStuck = onStuck;
  }

  /** The same agent, watched. */
  watched(agent: Agent): Agent {
    return async (task, context) => {
      let timer: NodeJS.Timeout | undefined;
      const onAbort = (): void => {
        timer = setTimeout(() => this.#onStuck(context.rolloutId), abortGraceMs);
      };
      context.signal.addEventListener('abort', onAbort, { once: true });
      try {
        return await agent(task, context);
      } finally {
        context.signal.removeEventListener('abort', onAbort);
        clearTimeout(timer);
      }
    };
  }
}
