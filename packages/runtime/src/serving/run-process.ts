import { AgentLightningError } from '@agentlightning/core';
import type { ServedRuntime } from './start-runtime.ts';

/**
 * Runs a runtime as a process. Its first line of output is `{"type":"ready","address":…,"inference":…}`. It ends when its standard
 * input ends, so that it never outlives the process that started it.
 *
 * @param start - starts the runtime by the flags of the process
 */
export async function runRuntimeProcess(start: (args: readonly string[]) => Promise<ServedRuntime>): Promise<void> {
  try {
    const runtime = await start(process.argv.slice(2));
    let isClosing = false;
    const end = (): void => {
      if (isClosing) return;
      isClosing = true;
      runtime.close().then(() => process.exit(0), fail);
    };
    process.stdin.resume().once('end', end).once('close', end).once('error', end);
    process.once('SIGINT', end).once('SIGTERM', end);
    const { address, inferenceUrl: inference } = runtime;
    process.stdout.write(`${JSON.stringify({ type: 'ready', address, inference })}\n`);
  } catch (error) {
    fail(error);
  }
}

/** Prints errors in one line: the parent process shows it to its user. */
function fail(error: unknown): void {
  const text = AgentLightningError.isInstance(error) ? `${error.message}. ${error.remedy}` : String(error);
  process.stderr.write(`${text}\n`, () => process.exit(1));
}
