import { withoutPasswords } from '@agentlightning/core/internal';
import { type ConfigOverrides, loadConfig } from '../../config/load-config.ts';
import { isPromptSearch, type ResolvedRun } from '../../config/resolve-run.ts';
import type { EvaluationListener } from '../../evaluation-run/evaluation-event.ts';
import { redirectConsole } from '../../report/agent-console.ts';
import type { CommandContext } from '../../report/complete-commands.ts';
import { evaluationProgress } from '../../report/evaluation-progress.ts';
import { errorText } from '../error-text.ts';
import { explainedFileError } from '../file-error.ts';
import { type WatchedRun, watchForBlockedEventLoop } from '../process/blocked-event-loop.ts';
import { watchForEarlyExit } from '../process/early-exit.ts';
import { listenToProcess } from '../process/listen-to-process.ts';
import { redirectStdout } from '../process/redirect-stdout.ts';
import { failureLine } from '../process/run-failure.ts';
import { programName } from '../program-name.ts';

/** A command that runs agents without training. */
export interface ReportedCommand<TReport> {
  /** The configuration file. */
  readonly file: string;
  readonly overrides: ConfigOverrides;
  readonly isJson: boolean;
  readonly work: (
    config: ResolvedRun,
    options: { readonly onEvent: EvaluationListener; readonly signal: AbortSignal },
  ) => Promise<TReport>;
  /** The result as text. */
  readonly text: (report: TReport, context: CommandContext) => string;
  /** The last lines of `--json`. */
  readonly records: (report: TReport) => readonly object[];
  readonly exitCode: (report: TReport) => number;
}

/**
 * Runs a command with progress, Ctrl+C and JSON lines.
 *
 * @returns the exit code
 * @throws the error of the work
 */
export async function runWithReport<TReport>(command: ReportedCommand<TReport>): Promise<number> {
  const stdout = command.isJson ? redirectStdout() : null;
  const write = (text: string): void => (stdout === null ? void process.stdout.write(text) : stdout.write(text));
  const progress = evaluationProgress(
    stdout === null ? { type: 'text', output: process.stdout } : { type: 'json', write },
  );
  const releaseConsole = redirectConsole(progress.print);
  const stop = listenToProcess({
    close: progress.close,
    onWarning: (message) => progress.onEvent({ type: 'warning', message }),
  });
  const failureOf = (thrown: unknown): unknown => {
    progress.close();
    const error = explainedFileError(thrown);
    if (stdout !== null) stdout.write(failureLine(error, { runId: progress.runId(), resume: null }));
    return error;
  };
  const showFailure = (error: unknown): void => {
    process.stderr.write(`${withoutPasswords(errorText(failureOf(error)))}\n`);
  };
  const unwatch = watchForEarlyExit(showFailure);
  let watched: WatchedRun | null = null;
  try {
    const loaded = await loadConfig(command.file, command.overrides);
    watched = watchForBlockedEventLoop(loaded, (error) => {
      unwatch();
      showFailure(error);
    });
    const { config } = watched;
    const report = await command.work(config, { onEvent: progress.onEvent, signal: stop.signal });
    progress.close();
    const { storeUrl } = isPromptSearch(config) ? config.shared : config;
    const context = { command: programName(), storeUrl };
    if (command.isJson) for (const record of command.records(report)) write(`${JSON.stringify(record)}\n`);
    else write(command.text(report, context));
    return command.exitCode(report);
  } catch (error) {
    throw failureOf(error);
  } finally {
    await watched?.stop();
    unwatch();
    stop.release();
    releaseConsole();
    stdout?.release();
  }
}
