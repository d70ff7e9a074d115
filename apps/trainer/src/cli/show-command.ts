import type { Command } from 'commander';
import { defaultStoreUrl } from '../config/default-store-url.ts';
import type { ShowFlags } from './show-rollout.ts';
import { storeHelp } from './store-option.ts';

/** Adds `agl show`. */
export function addShowCommand(program: Command): void {
  program
    .command('show')
    .description('Show a rollout: its attempts, the tree of its trace, and the conversation.')
    .argument('<rollout>', 'the id of a rollout')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--attempt <attempt>', 'which attempt', 'latest')
    .option('--json', 'the rollout and its spans as JSON')
    .action(async (rolloutId: string, flags: ShowFlags) => {
      const { showRollout } = await import('./show-rollout.ts');
      await showRollout(rolloutId, flags);
    });
}
