import { AgentLightningError } from '@agentlightning/core';
import { exitCodes } from '../exit-code.ts';

/**
 * Reports when the process ends before its command has. Agents run in this process: one that calls `process.exit`, or
 * throws an uncaught exception, also ends the training, which must not look successful.
 *
 * @param report - receives the reason; it must be synchronous
 * @returns stops watching
 */
export function watchForEarlyExit(report: (error: AgentLightningError) => void): () => void {
  let uncaught: { readonly error: unknown } | null = null;
  const onUncaught = (error: unknown): void => {
    uncaught = { error };
  };
  let isOutputLost = false;
  const onOutputError = (): void => {
    isOutputLost = true;
  };
  const onExit = (code: number): void => {
    report(isOutputLost ? outputLost(code) : earlyExit(code, uncaught));
    if (code === exitCodes.done) process.exitCode = exitCodes.failed;
  };
  process.on('uncaughtExceptionMonitor', onUncaught).on('exit', onExit);
  // Before the listener that ends the process.
  process.stdout.prependListener('error', onOutputError);
  return () => {
    process.off('uncaughtExceptionMonitor', onUncaught).off('exit', onExit);
    process.stdout.off('error', onOutputError);
  };
}

/** Node's exit code when all that is left is an `await` at the top level of a module. */
const nothingLeftToHappen = 13;

function earlyExit(code: number, uncaught: { readonly error: unknown } | null): AgentLightningError {
  // First, because an uncaught error that the program handled may be older.
  if (code === exitCodes.interrupted) return stopped('the run was stopped at once');
  if (uncaught !== null) {
    const { error } = uncaught;
    const shown = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return new AgentLightningError({
      code: 'AGENT_FAILED',
      message: `an uncaught error ended the process: ${shown}`,
      remedy: 'Catch it in the agent, such as with a listener for `error` or around what a timer calls.',
    });
  }
  if (code === nothingLeftToHappen) {
    return new AgentLightningError({
      code: 'AGENT_FAILED',
      message: 'the configuration or the agent waits for something that can never happen',
      remedy: 'Look for an `await` of a promise that nothing settles.',
    });
  }
  return new AgentLightningError({
    code: 'AGENT_FAILED',
    message: `something ended the process with exit code ${code} before the run was over`,
    remedy: 'Take `process.exit` out of the agent, and of the modules that its configuration loads.',
  });
}

function outputLost(code: number): AgentLightningError {
  if (code === exitCodes.brokenPipe) return stopped('the reader of the output has closed it, so the run was stopped');
  return stopped('the output cannot be written, so the run was stopped');
}

function stopped(message: string): AgentLightningError {
  return new AgentLightningError({ code: 'CANCELLED', message });
}
