const warned = new Set<string>();

/**
 * Says as a warning of the process what an adapter could not do, once: an agent must not fail for it.
 *
 * @param what - what could not be done: said only once
 * @param cause - what was thrown, or what there is to do about it
 */
export function warnOnce(what: string, cause: unknown): void {
  if (warned.has(what)) return;
  warned.add(what);
  globalThis.process?.emitWarning?.(
    `${what}: ${cause instanceof Error ? cause.message : String(cause)}`,
    'AgentLightningWarning',
  );
}

/** Runs what must not disturb the agent. */
export function quietly(what: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    warnOnce(what, error);
  }
}
