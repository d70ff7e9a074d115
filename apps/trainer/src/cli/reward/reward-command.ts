import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { type ProgramOptions, storeHelp, wholeNumber } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { AuditFlags } from './run-audit.ts';
import type { ProbeFlags } from './run-probe.ts';
import type { RescoreFlags } from './run-rescore.ts';

/** Adds `agl reward probe`, `agl audit` and `agl rescore`. */
export function addRewardCommands(program: Command, options: ProgramOptions): void {
  program
    .command('reward')
    .description('Examine a reward before a training relies on it.')
    .command('probe')
    .description(
      'Score outputs that no honest agent returns, and the stored ones of the agent: can the reward be gamed?',
    )
    .argument('[config]', 'a configuration with `reward`', 'agl.config.ts')
    .option('--run <id>', "the run with the agent's own outputs (default: the newest of the configuration)")
    .option('--tasks <n>', 'number of training tasks', wholeNumber({ min: 1, max: 1000 }), 8)
    .option('--store <url>', `${storeHelp} (default: that of the configuration)`)
    .option('--json', 'one JSON object, for programs')
    .addHelpText(
      'after',
      examples(
        'agl reward probe --run run-1a2b3c4d',
        'Exit codes: 0 no degenerate output is rewarded like a good one, 1 one is, 2 invalid flag or configuration.',
      ),
    )
    .action(async (file: string, flags: ProbeFlags) => {
      const { runProbe } = await import('./run-probe.ts');
      options.setExitCode(await runProbe(file, flags));
    });
  program
    .command('audit')
    .description('Look for signs in the stored rollouts of a run that its reward was exploited.')
    .argument('<run>', 'the id of the run')
    .option('--judge <file>', 'a module with a second reward, which scores the measured rollouts')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object, for programs')
    .addHelpText(
      'after',
      examples(
        'agl audit run-1a2b3c4d --judge judge.ts',
        'It measures the run as it was. Exit codes: 0 no finding, 1 findings, 2 invalid flag or unknown run.',
      ),
    )
    .action(async (run: string, flags: AuditFlags) => {
      const { runAudit } = await import('./run-audit.ts');
      options.setExitCode(await runAudit(run, flags));
    });
  program
    .command('rescore')
    .description('Score the stored rollouts of a run by another reward, without running agents.')
    .argument('<run>', 'the id of the run')
    .requiredOption('--reward <file>', 'a module with the reward, or a configuration')
    .addOption(
      new Option('--mode <modes...>', 'rollouts of these modes')
        .choices(['train', 'val', 'test', 'production'])
        .default(['train', 'val', 'test', 'production']),
    )
    .option('--copy <id>', 'also create a copy of the run with the new rewards, for `agl dataset --run <id>`')
    .option('--out <file>', 'write each rollout with both rewards, as JSON lines')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object, for programs')
    .addHelpText(
      'after',
      examples('agl rescore run-1a2b3c4d --reward stricter.ts --copy run-strict', 'The stored rewards remain.'),
    )
    .action(async (run: string, flags: RescoreFlags) => {
      const { runRescore } = await import('./run-rescore.ts');
      await runRescore(run, flags);
    });
}
