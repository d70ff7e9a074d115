import type { Agent } from '../agent.ts';

/** Grace period for an agent after the abort of its signal, in milliseconds. */
const abortGraceMs = 2000;

/**
 * The same agent, with detection of runs that ignore the abort of their signal.
 *
 * @param onStuck - called with the rollout of an agent that still runs after the grace period
 */
export function detectStuckAgent(agent: Agent, onStuck: (rolloutId: string) => void): Agent {
  return async (task, context) => {
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      timer = setTimeout(() => onStuck(context.rolloutId), abortGraceMs);
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
