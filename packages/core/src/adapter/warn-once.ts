const warned = new Set<string>();

/** Says as a warning of the process what this package could not do, once: an agent must not fail for it. */
export function warnOnce(what: string, error: unknown): void {
  if (warned.has(what)) return;
  warned.add(what);
  const message = `${what}: ${error instanceof Error ? error.message : String(error)}`;
  globalThis.process?.emitWarning(message, 'AgentLightningWarning');
}

/** Runs what must not disturb the agent. */
export function quietly(what: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    warnOnce(what, error);
  }
}
