import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import { storeHelp } from '../store-option.ts';
import type { RunsFlags } from './list-runs.ts';

/** Adds `agl runs`. */
export function addRunsCommand(program: Command): void {
  program
    .command('runs')
    .description('List the training runs of a store, newest first.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .action(async (flags: RunsFlags) => {
      const { listRuns } = await import('./list-runs.ts');
      await listRuns(flags);
    });
}
