import type { Command } from 'commander';
import { budgetOf, formerWorkers, type ProgramOptions, shareOf, storeHelp, wholeNumber } from '../flags.ts';
import type { TrainFlags } from './run-training.ts';

/** Adds `agl train`. */
export function addTrainCommand(program: Command, options: ProgramOptions): void {
  program
    .command('train')
    .description('Train the model of an agent or optimise its prompts, with evaluations before and after.')
    .argument('[config]', 'the configuration file', 'agl.config.ts')
    .option(
      '--resume <run>',
      'resume a run from its last saved step: an interrupted one, or a finished one with more --steps',
    )
    .option(
      '--run <id>',
      'the id of the new run, also the model name in the runtime: letters, digits, _ and single hyphens',
    )
    .option('--steps <n>', 'total number of training steps, including those before --resume', wholeNumber({ min: 0 }))
    .option('--seed <n>', 'seed of all random draws', wholeNumber({ min: 0, max: 0xffffffff }))
    .option('--name <name>', 'a name for the run')
    .option('--tags <list>', 'labels that the dashboard filters runs by, separated by commas', (list) =>
      list.split(','),
    )
    .option(
      '--from <checkpoint>',
      'initial checkpoint, of another run: <run>@best, <run>@latest or <run>@<step>; or <deployment>@live',
    )
    .option('--concurrency <n>', 'number of concurrent rollouts', wholeNumber({ min: 1 }))
    .addOption(formerWorkers())
    .option('--processes <n>', 'processes that run agents', wholeNumber({ min: 1, max: 256 }))
    .option('--in-process', 'run agents in the process of the trainer')
    .option('--no-runner', 'do not start agents; external runners run them')
    .option('--max-missing <share>', 'share of missing held-out rewards above which no verdict is given', shareOf)
    .option(
      '--budget <limits>',
      'pause at a limit, such as money=20,tokens=5000000,hours=2; money needs run.prices',
      budgetOf,
    )
    .option(
      '--estimate',
      'train one small step of a temporary run, and print tokens, time and cost of the whole training',
    )
    .option('--data-dir <folder>', 'folder of run data (default: .agl next to the configuration file)')
    .option('--store <url>', storeHelp)
    .option('--gateway <url>', 'the URL of a running gateway')
    .option('--runtime <address>', 'host:port of a running training runtime')
    .option(
      '--dashboard [port]',
      'serve the web dashboard during training, at port 4770 by default; 0 for any free port',
      port,
    )
    .option('--metrics <[host:]port>', 'serve Prometheus metrics at /metrics; beyond loopback with AGL_METRICS_KEY')
    .option('--detach', 'train in the background: returns when the run has started; `agl stop` stops it')
    .option('--json', 'one JSON object per line, for programs')
    .addHelpText('after', helpText)
    .action(async (file: string, flags: TrainFlags) => {
      const request = { file, flags, args: options.args };
      if (flags.estimate === true) {
        const { runEstimate } = await import('./run-estimate.ts');
        options.setExitCode(await runEstimate(request));
        return;
      }
      const { runTraining } = await import('./run-training.ts');
      const { detachTraining } = await import('./detach-training.ts');
      options.setExitCode(await (flags.detach === true ? detachTraining(request) : runTraining(request)));
    });
}

/** Adds `agl resume` to the help: {@link withResumeAsTrain} makes it `agl train --resume`. */
export function addResumeCommand(program: Command): void {
  program
    .command('resume')
    .description('Resume a run from its last saved step: `agl train [config] --resume <run>`, with its flags.')
    .argument('<run>', 'the id of the run')
    .argument('[config]', 'the configuration file', 'agl.config.ts');
}

/** The arguments of `agl train --resume` for those of `agl resume`; other arguments are unchanged. */
export function withResumeAsTrain(args: readonly string[]): readonly string[] {
  const [command, runId = '-', ...others] = args;
  if (command !== 'resume' || runId.startsWith('-')) return args;
  return ['train', ...others, '--resume', runId];
}

/** The parser of ports. A configuration file that follows `--dashboard` is not a port, and the message says so. */
const port = wholeNumber({ min: 0, max: 65535 });

const helpText = `
Flags override the configuration file. Keys: AGL_STORE_KEY for --store, AGL_RUNTIME_KEY for --runtime,
AGL_INFERENCE_KEY for the model API that it names, AGL_TOKEN_SECRET for agents: with --gateway, the one of the gateway.

Exit codes: 0 better, 1 worse, no difference shown, undecided or failed, 2 invalid flag, configuration or task, 3 store, gateway, runtime or
model unavailable (the run can be resumed), 4 an agent blocked the event loop with --in-process (likewise), 5 paused at its budget (likewise), 130 stopped by Ctrl+C (likewise).`;
