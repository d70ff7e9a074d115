import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import { wholeNumber } from '../number-flag.ts';
import { examples } from '../store/store-file-commands.ts';
import { storeHelp } from '../store-option.ts';
import type { RolloutsFlags } from './list-rollouts.ts';

const statuses = ['queuing', 'preparing', 'running', 'succeeded', 'failed', 'requeuing', 'cancelled'];

/** Adds `agl rollouts`. */
export function addRolloutsCommand(program: Command): void {
  program
    .command('rollouts')
    .description('List rollouts, newest first: of a run, or of the whole store.')
    .option('--run <id>', 'only those of this run, with how many there are of each status')
    .addOption(new Option('--status <status...>', 'only those with one of these statuses').choices(statuses))
    .addOption(new Option('--mode <mode...>', 'only those of one of these modes').choices(['train', 'val', 'test']))
    .option('--limit <n>', 'how many at most', wholeNumber({ min: 1 }), 50)
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object a line, for programs')
    .addHelpText(
      'after',
      examples('agl rollouts --run run-1a2b3c4d --status failed', '`agl show <rollout>` shows the trace of one.'),
    )
    .action(async (flags: RolloutsFlags) => {
      const { listRollouts } = await import('./list-rollouts.ts');
      await listRollouts(flags);
    });
}
