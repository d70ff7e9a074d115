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

/** Node's exit code for a top-level `await` that is never settled. */
const nothingLeftToHappen = 13;

function earlyExit(code: number, uncaught: { readonly error: unknown } | null): AgentLightningError {
  // First, because an uncaught error that the program handled may be older.
  if (code === exitCodes.interrupted) return stopped('the run was stopped immediately');
  if (uncaught !== null) {
    const { error } = uncaught;
    const shown = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return new AgentLightningError({
      code: 'AGENT_FAILED',
      message: `an uncaught error ended the process: ${shown}`,
      remedy: 'Catch it in the agent, such as with a listener for `error` or a `try` in a timer callback.',
    });
  }
  if (code === nothingLeftToHappen) {
    return new AgentLightningError({
      code: 'AGENT_FAILED',
      message: 'the configuration or the agent awaits a promise that is never settled',
      remedy: 'Find the `await` of this promise.',
    });
  }
  return new AgentLightningError({
    code: 'AGENT_FAILED',
    message: `the process was ended with exit code ${code} before the run had ended`,
    remedy: 'Remove `process.exit` from the agent and the modules that its configuration loads.',
  });
}

function outputLost(code: number): AgentLightningError {
  if (code === exitCodes.brokenPipe) return stopped('the reader of the output has closed it, so the run was stopped');
  return stopped('the output cannot be written, so the run was stopped');
}

function stopped(message: string): AgentLightningError {
  return new AgentLightningError({ code: 'CANCELLED', message });
}
