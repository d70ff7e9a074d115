import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import { storeHelp } from '../store-option.ts';
import type { WorkersFlags } from './list-workers.ts';

/** Adds `agl workers`. */
export function addWorkersCommand(program: Command): void {
  program
    .command('workers')
    .description('List the registered runners of a store, with their load and last heartbeat.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .action(async (flags: WorkersFlags) => {
      const { listWorkers } = await import('./list-workers.ts');
      await listWorkers(flags);
    });
}
