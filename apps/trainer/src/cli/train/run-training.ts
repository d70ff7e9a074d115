import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { withoutPasswords } from '@agentlightning/core/internal';
import type { TrainingEvent, TrainingSummary } from '@agentlightning/core/protocol';
import { defaultStoreUrl } from '../../config/environment.ts';
import { type ConfigOverrides, loadConfig } from '../../config/load-config.ts';
import type { ResolvedConfig } from '../../config/resolve-config.ts';
import { isPromptSearch } from '../../config/resolve-run.ts';
import type { BudgetConfig } from '../../config/sections/limits-config.ts';
import type { SharedSettings } from '../../config/shared-settings.ts';
import { defaultDashboardPort } from '../../doctor/dashboard-port.ts';
import { withTelemetry } from '../../metrics/command-telemetry.ts';
import { TrainingMetrics } from '../../metrics/training-metrics.ts';
import { redirectConsole } from '../../report/agent-console.ts';
import { type CommandContext, completeCommands, storeFlag } from '../../report/complete-commands.ts';
import { jsonReport } from '../../report/json-report.ts';
import { plainReport } from '../../report/plain-report.ts';
import type { Report } from '../../report/report.ts';
import { summaryText } from '../../report/summary.ts';
import { terminalReport } from '../../report/terminal-report.ts';
import { openStoreByUrl } from '../../runtime/open-store-by-url.ts';
import { trainWith } from '../../trainer.ts';
import { connectionOverrides, givenFlags } from '../connection-overrides.ts';
import { errorText } from '../error-text.ts';
import { exitCodes } from '../exit-code.ts';
import { explainedFileError } from '../file-error.ts';
import { type WatchedRun, watchForBlockedEventLoop } from '../process/blocked-event-loop.ts';
import { watchForEarlyExit } from '../process/early-exit.ts';
import { listenToProcess } from '../process/listen-to-process.ts';
import { type RedirectedStdout, redirectStdout } from '../process/redirect-stdout.ts';
import { asksForAnotherRun, failureLine, withResume } from '../process/run-failure.ts';
import { programName } from '../program-name.ts';
import { openCommandMetrics } from '../telemetry/command-metrics.ts';
import { type LaunchedDashboard, launchDashboard } from './launch-dashboard.ts';
import { pruneHint } from './prune-hint.ts';
import { moreStepsCommand, resumeCommand } from './resume-command.ts';

/** The flags of `agl train`. */
export interface TrainFlags {
  readonly resume?: string;
  readonly run?: string;
  readonly json?: boolean;
  readonly detach?: boolean;
  /** The port of the dashboard; true for the default one. */
  readonly dashboard?: number | true;
  /** A port, or `host:port`, of the Prometheus metrics. */
  readonly metrics?: string;
  readonly steps?: number;
  readonly seed?: number;
  readonly name?: string;
  readonly tags?: readonly string[];
  /** A checkpoint of another run. */
  readonly from?: string;
  readonly concurrency?: number;
  readonly processes?: number;
  readonly inProcess?: boolean;
  /** False for external runners only. */
  readonly runner: boolean;
  readonly maxMissing?: number;
  readonly budget?: BudgetConfig;
  readonly estimate?: boolean;
  readonly dataDir?: string;
  readonly store?: string;
  readonly gateway?: string;
  readonly runtime?: string;
}

/** Inputs of a training. */
export interface TrainingRequest {
  /** The configuration file. */
  readonly file: string;
  readonly flags: TrainFlags;
  /** The command-line arguments, for the command that resumes the run. */
  readonly args: readonly string[];
}

/**
 * Trains with a progress report and a summary.
 *
 * @returns the exit code
 * @throws the error that ended the run; its remedy has the command that resumes it
 */
export async function runTraining(request: TrainingRequest): Promise<number> {
  return await withTelemetry('agl-train', async ({ registry }) => {
    const close = await openCommandMetrics(registry, request.flags.metrics);
    try {
      return await trainWithReport(request, new TrainingMetrics(registry));
    } finally {
      await close();
    }
  });
}

async function trainWithReport({ file, flags, args }: TrainingRequest, metrics: TrainingMetrics): Promise<number> {
  const isJson = flags.json === true;
  const stdout = isJson ? redirectStdout() : null;
  const report = chooseReport(stdout);
  const releaseConsole = redirectConsole(report.print);
  const command = programName();
  let runId: string | null = null;
  let hasBegun = false;
  let context: CommandContext = { command, storeUrl: defaultStoreUrl };
  const onEvent = (event: TrainingEvent): void => {
    metrics.onEvent(event);
    if (event.type === 'started') hasBegun = true;
    report.onEvent(event.type === 'warning' ? { ...event, message: completeCommands(event.message, context) } : event);
  };
  const stop = listenToProcess({
    close: report.close,
    onWarning: (message) => report.onEvent({ type: 'warning', message }),
  });
  /** Reports a failed run: an error text, and the last line of `--json`. */
  const failureOf = (thrown: unknown): unknown => {
    report.close();
    const error = explainedFileError(thrown);
    const resumed = !hasBegun && asksForAnotherRun(error) ? null : runId;
    const resume = resumed === null ? null : resumeCommand(args, resumed, command);
    if (stdout !== null) stdout.write(failureLine(error, { runId, resume }));
    return resume === null ? error : withResume(error, resume, context);
  };
  const showFailure = (error: unknown): void => {
    process.stderr.write(`${withoutPasswords(errorText(failureOf(error)))}\n`);
  };
  const unwatch = watchForEarlyExit(showFailure);
  let watched: WatchedRun | null = null;
  let dashboard: LaunchedDashboard | null = null;
  try {
    const loaded = await loadConfig(file, overridesFrom(flags));
    watched = watchForBlockedEventLoop(loaded, (error) => {
      unwatch();
      showFailure(error);
    });
    const { config } = watched;
    const settings = isPromptSearch(config) ? config.shared : config;
    context = { command, storeUrl: settings.storeUrl };
    dashboard = await openDashboard({ flags, settings, stdout, onEvent });
    const summary = await trainWith(config, {
      onEvent,
      onRun: (found) => {
        runId = found;
      },
      signal: stop.signal,
      ...(flags.resume === undefined ? {} : { resume: flags.resume }),
      ...(flags.run === undefined ? {} : { runId: flags.run }),
    });
    report.close();
    if (!isJson) {
      const more = moreSteps(summary);
      const resume = more === null ? null : moreStepsCommand(args, { runId: summary.runId, steps: more }, command);
      process.stdout.write(summaryText(summary, await loadExamples(settings, summary), { command, resume }));
      const hint = await pruneHint(settings.storeUrl, command);
      if (hint !== null) process.stdout.write(`${hint}\n`);
    }
    return exitCodeFor(summary);
  } catch (error) {
    throw failureOf(error);
  } finally {
    await dashboard?.close();
    await watched?.stop();
    unwatch();
    stop.release();
    releaseConsole();
    stdout?.release();
  }
}

/** A training on stored data without test tasks has no verdict. */
function exitCodeFor({ isImproved, after }: TrainingSummary): number {
  const isMeasured = after.rollouts + after.missing > 0;
  return isImproved === true || !isMeasured ? exitCodes.done : exitCodes.failed;
}

/** Starts the dashboard of `--dashboard`, and prints its URL. */
async function openDashboard(options: {
  readonly flags: TrainFlags;
  readonly settings: Pick<SharedSettings, 'storeUrl' | 'storeApiKey'>;
  readonly stdout: RedirectedStdout | null;
  readonly onEvent: (event: TrainingEvent) => void;
}): Promise<LaunchedDashboard | null> {
  const { flags, settings, stdout, onEvent } = options;
  if (flags.dashboard === undefined) return null;
  const port = flags.dashboard === true ? defaultDashboardPort : flags.dashboard;
  const onLost = (message: string): void => onEvent({ type: 'warning', message });
  const dashboard = await launchDashboard({ settings, port, onLost });
  process.stderr.write(`Dashboard: ${dashboard.url}\n`);
  stdout?.write(`${JSON.stringify({ type: 'dashboard', url: dashboard.url })}\n`);
  const again = `${programName()} dashboard${storeFlag(settings.storeUrl)}`;
  return {
    url: dashboard.url,
    close: async () => {
      await dashboard.close();
      process.stderr.write(`The dashboard has ended with the training. Open it again: ${again}\n`);
    },
  };
}

/** A larger number of steps for a training that has finished all of its steps; null where more steps have no effect. */
function moreSteps({ training, rewardCurve }: TrainingSummary): number | null {
  const finishedStep = rewardCurve.length;
  if (training?.ended !== 'steps' || training.stages !== undefined) return null;
  return finishedStep === 0 ? null : 2 * finishedStep;
}

/** The settings of the flags. */
export function overridesFrom(flags: TrainFlags): ConfigOverrides {
  const given = givenFlags({
    steps: flags.steps,
    run: { seed: flags.seed, name: flags.name, tags: flags.tags },
    checkpoints: { from: flags.from },
    agents: {
      concurrency: flags.concurrency,
      processes: flags.runner ? flags.processes : 0,
      inProcess: flags.inProcess,
    },
    limits: { budget: flags.budget },
    evaluation: { maxMissingShare: flags.maxMissing },
    gateway: { tokenSecret: process.env['AGL_TOKEN_SECRET'], url: flags.gateway },
  });
  return connectionOverrides(flags, given);
}

function chooseReport(redirected: RedirectedStdout | null): Report {
  if (redirected !== null) return jsonReport(redirected.write, (text) => void process.stderr.write(text));
  const write = (text: string): void => void process.stdout.write(text);
  return process.stdout.isTTY ? terminalReport(process.stdout) : plainReport(write);
}

async function loadExamples(
  config: Pick<ResolvedConfig, 'storeUrl' | 'storeApiKey'>,
  summary: TrainingSummary,
): Promise<{ before: CollectedRollout | null; after: CollectedRollout | null }> {
  const store = await openStoreByUrl({ url: config.storeUrl, apiKey: config.storeApiKey });
  const load = async (rolloutId: string | null): Promise<CollectedRollout | null> => {
    if (rolloutId === null) return null;
    const rollout = await store.getRollout(rolloutId);
    const { items } = await store.querySpans({ rolloutId, attemptId: 'latest' });
    return { rollout, attemptId: items[0]?.attemptId ?? null, spans: items };
  };
  try {
    return { before: await load(summary.exampleBefore), after: await load(summary.exampleAfter) };
  } finally {
    await store.close();
  }
}
