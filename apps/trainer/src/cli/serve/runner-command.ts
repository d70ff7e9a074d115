import type { Command } from 'commander';
import { durationMs, formerWorkers, storeHelp, wholeNumber } from '../flags.ts';
import type { RunnerFlags } from './run-runner.ts';

const help = `
Examples:
  A runner for a run whose store and gateway are on other machines; the trainer was started with --no-runner:
    $ AGL_STORE_KEY=… agl runner --store https://store:4747 --gateway https://gateway:4750 --agent ./agent.ts --run my-run
  Two runners on the machine of the trainer:
    $ agl runner --store http://127.0.0.1:4747 --processes 4 --concurrency 64

The agent is the key agent of a configuration file, or the export agent or the default export of a module.

While it runs:
  agl workers   lists it, with version, load and last heartbeat
  SIGTERM       claims nothing more, lets running agents end for --grace, returns the others to the queue, and leaves;
                a second signal returns all at once

A runner that ends otherwise is noticed after --lease: its rollouts return to the queue, and their agents have not failed.

Keys, from the environment:
  AGL_STORE_KEY      for the store, with the role worker
  AGL_TOKEN_SECRET   only for a store server that has none: otherwise the server signs the tokens of attempts`;

/** Adds `agl runner`. */
export function addRunnerCommand(program: Command): void {
  program
    .command('runner')
    .description('Run agents for remote trainers: claim rollouts from a store, on any machine.')
    .requiredOption('--store <url>', storeHelp)
    .option('--gateway <url>', 'the URL of the gateway from this machine (default: the URL published by the trainer)')
    .option('--agent <file>', 'the module or configuration file with the agent', 'agl.config.ts')
    .option(
      '--agent-env <names...>',
      'the only environment variables of agents, besides basic ones (default: all others)',
    )
    .option('--run <id>', 'only rollouts of this run; without it, of every run in the store')
    .addOption(formerWorkers())
    .option('--processes <n>', 'processes that run agents', wholeNumber({ min: 1, max: 256 }), 1)
    .option(
      '--concurrency <n>',
      'number of concurrent rollouts of all processes',
      wholeNumber({ min: 1, max: 4096 }),
      32,
    )
    .option('--metrics <[host:]port>', 'serve Prometheus metrics at /metrics; beyond loopback with AGL_METRICS_KEY')
    .option('--max-rollouts <n>', 'claims this many rollouts, and ends with the last of them', wholeNumber({ min: 1 }))
    .option('--idle <time>', 'ends when there was nothing to run for this long', durationMs)
    .option('--id <id>', 'its id in the store, unique among runners (default: a random one)')
    .option('--lease <time>', 'heartbeat timeout after which the store considers the runner lost', durationMs, 8000)
    .option('--grace <time>', 'grace period for agents after SIGTERM', durationMs, 30_000)
    .option('--wait <time>', 'maximum wait for store and gateway at the start', durationMs, 60_000)
    .addHelpText('after', help)
    .action(async (flags: RunnerFlags) => {
      const { runRunner } = await import('./run-runner.ts');
      await runRunner(flags);
    });
}
