import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { storeHelp, wholeNumber } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { RolloutsFlags } from './list-rollouts.ts';

const statuses = ['queuing', 'preparing', 'running', 'succeeded', 'failed', 'requeuing', 'cancelled'];

/** Adds `agl rollouts`. */
export function addRolloutsCommand(program: Command): void {
  program
    .command('rollouts')
    .description('List rollouts of a run or of the whole store.')
    .option('--run <id>', 'only rollouts of this run, with their number by status')
    .addOption(new Option('--status <status...>', 'only rollouts with one of these statuses').choices(statuses))
    .addOption(
      new Option('--mode <mode...>', 'only rollouts of one of these modes').choices([
        'train',
        'val',
        'test',
        'production',
      ]),
    )
    .option('--text <words>', 'only finished rollouts with these words; `*` ends a prefix')
    .option('--step <n>', 'only rollouts of this training step', wholeNumber({ min: 0 }))
    .option('--task <n>', 'only rollouts of the task with this index', wholeNumber({ min: 0 }))
    .option('--min-reward <x>', 'only rollouts with at least this reward', Number)
    .option('--max-reward <x>', 'only rollouts with at most this reward', Number)
    .option('--without-reward', 'only finished rollouts without a reward, which evaluations exclude')
    .addOption(
      new Option('--sort <order>', 'order; `reward-…` lists only rollouts with a reward')
        .choices(['newest', 'oldest', 'reward-high', 'reward-low'])
        .default('newest'),
    )
    .option('--limit <n>', 'maximum number of rollouts, up to 1,000', wholeNumber({ min: 1 }), 50)
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .addHelpText(
      'after',
      examples('agl rollouts --run run-1a2b3c4d --status failed', '`agl show <rollout>` shows the trace of one.'),
    )
    .action(async (flags: RolloutsFlags) => {
      const { listRollouts } = await import('./list-rollouts.ts');
      await listRollouts(flags);
    });
}
