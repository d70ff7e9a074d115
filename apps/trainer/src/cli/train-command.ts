import type { CollectedRollout } from '@agentlightning/core';
import type { Command } from 'commander';
import { type ConfigOverrides, defaultConfigFile, loadConfig } from '../config/load-config.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { jsonReport } from '../report/json-report.ts';
import { plainReport } from '../report/plain-report.ts';
import { summaryText } from '../report/summary.ts';
import { terminalReport } from '../report/terminal-report.ts';
import { openAnyStore } from '../runtime/open-any-store.ts';
import { trainWith } from '../trainer.ts';
import type { TrainingListener, TrainingSummary } from '../training-event.ts';
import { exitCodes } from './exit-code.ts';
import { wholeNumber } from './number-flag.ts';
import type { ProgramOptions } from './program-options.ts';

interface TrainFlags {
  readonly resume?: string;
  readonly run?: string;
  readonly json?: boolean;
  readonly steps?: number;
  readonly seed?: number;
  readonly name?: string;
  readonly concurrency?: number;
  readonly dataDir?: string;
  readonly store?: string;
  readonly gateway?: string;
  readonly runtime?: string;
}

/** Adds `agl train`. */
export function addTrainCommand(program: Command, options: ProgramOptions): void {
  program
    .command('train')
    .description('Train the agent of a configuration file and measure it on held-out tasks before and after.')
    .argument('[config]', 'the configuration file', defaultConfigFile)
    .option('--resume <run>', 'go on with an interrupted run')
    .option('--run <id>', 'the id of the new run, also the model name in the runtime')
    .option('--steps <n>', 'training steps', wholeNumber({ min: 0 }))
    .option('--seed <n>', 'seed of everything drawn at random', wholeNumber({ min: 0, max: 0xffffffff }))
    .option('--name <name>', 'a name for the run')
    .option('--concurrency <n>', 'rollouts at a time', wholeNumber({ min: 1 }))
    .option('--data-dir <folder>', 'where run data lies')
    .option('--store <url>', 'sqlite:<file>, or the http address of a store server')
    .option('--gateway <url>', 'the http address of a gateway that runs elsewhere')
    .option('--runtime <address>', 'host:port of a training runtime that runs elsewhere')
    .option('--json', 'one JSON object a line, for programs')
    .action(async (file: string, flags: TrainFlags) => {
      const config = await loadConfig(file, overridesFrom(flags));
      options.setExitCode(await trainAndReport(config, flags));
    });
}

function overridesFrom(flags: TrainFlags): ConfigOverrides {
  const entries = Object.entries({
    steps: flags.steps,
    seed: flags.seed,
    name: flags.name,
    concurrency: flags.concurrency,
    dataDir: flags.dataDir,
    store: flags.store === undefined ? undefined : { url: flags.store, apiKey: process.env['AGL_STORE_KEY'] },
    gatewayUrl: flags.gateway,
    runtime:
      flags.runtime === undefined
        ? undefined
        : { type: 'grpc', address: flags.runtime, apiKey: process.env['AGL_RUNTIME_KEY'] },
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

async function trainAndReport(config: ResolvedConfig, flags: TrainFlags): Promise<number> {
  const interrupt = interruptSignal();
  const summary = await trainWith(config, {
    onEvent: chooseReport(flags.json === true),
    signal: interrupt.signal,
    ...(flags.resume === undefined ? {} : { resume: flags.resume }),
    ...(flags.run === undefined ? {} : { runId: flags.run }),
  });
  interrupt.release();
  if (flags.json !== true)
    process.stdout.write(summaryText(summary, await loadExamples(config, summary), process.env['AGL_COMMAND']));
  return summary.isImproved ? exitCodes.done : exitCodes.failed;
}

function chooseReport(isJson: boolean): TrainingListener {
  const write = (text: string): void => void process.stdout.write(text);
  if (isJson) return jsonReport(write);
  return process.stdout.isTTY ? terminalReport(process.stdout) : plainReport(write);
}

/** The first Ctrl+C stops the run in an orderly way, a second one at once. */
function interruptSignal(): { readonly signal: AbortSignal; readonly release: () => void } {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    controller.abort(new DOMException('interrupted', 'AbortError'));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    },
  };
}

async function loadExamples(
  config: ResolvedConfig,
  summary: TrainingSummary,
): Promise<{ before: CollectedRollout | null; after: CollectedRollout | null }> {
  const store = await openAnyStore({ url: config.storeUrl, apiKey: config.storeApiKey });
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
