import { errorMessage } from '../base/error-message.ts';

const warned = new Set<string>();

/**
 * Emits a process warning about a failed operation of an adapter, once: adapter failures must not fail the agent.
 *
 * @param what - the failed operation; each value is emitted once
 * @param cause - the error, or the remedy
 */
export function warnOnce(what: string, cause: unknown): void {
  if (warned.has(what)) return;
  warned.add(what);
  globalThis.process?.emitWarning?.(`${what}: ${errorMessage(cause)}`, 'AgentLightningWarning');
}

/** Runs a function whose errors must not reach the agent; they are emitted as warnings. */
export function quietly(what: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    warnOnce(what, error);
  }
}
