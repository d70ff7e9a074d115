import { withoutPasswords } from '@agentlightning/core/internal';
import { exitCodes } from '../exit-code.ts';

/** Callbacks for signals. */
export interface ProcessListener {
  /** Removes the progress line. */
  readonly close: () => void;
  readonly onWarning: (message: string) => void;
}

/** The first Ctrl+C stops the run gracefully, a second one immediately. An unhandled rejection of an agent is a warning. */
export function listenToProcess({ close, onWarning }: ProcessListener): {
  readonly signal: AbortSignal;
  readonly release: () => void;
} {
  const controller = new AbortController();
  const onSignal = (): void => {
    close();
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    process.stderr.write('Stopping after the operation in progress; Ctrl+C again stops immediately.\n');
    controller.abort(new DOMException('interrupted', 'AbortError'));
  };
  const onRejection = (reason: unknown): void => {
    const text = withoutPasswords(reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason));
    onWarning(`unhandled promise rejection: ${text}`);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('unhandledRejection', onRejection);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('unhandledRejection', onRejection);
    },
  };
}
