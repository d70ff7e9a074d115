/** The adapter warnings that this process emits during a function. */
export async function warningsDuring(run: () => unknown): Promise<readonly string[]> {
  const warnings: string[] = [];
  const onWarning = ({ name, message }: Error): void => {
    if (name === 'AgentLightningWarning') warnings.push(message);
  };
  process.on('warning', onWarning);
  try {
    await run();
    // Warnings are emitted in the next tick.
    await new Promise(setImmediate);
  } finally {
    process.off('warning', onWarning);
  }
  return warnings;
}
