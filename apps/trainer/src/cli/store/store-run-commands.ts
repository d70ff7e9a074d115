import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { durationMs, storeHelp, traceAges, wholeNumber } from '../flags.ts';
import type { DeleteFlags, PruneFlags } from './store-deletion-actions.ts';
import { examples } from './store-file-commands.ts';
import type { ExportFlags, RunFlags } from './store-run-actions.ts';

const dataDirHelp = 'data directory of the runs, where checkpoints are deleted (default: the folder of the store file)';
const jsonHelp = 'the result as one JSON object, for programs';

/** Adds the commands on whole runs: export, import, delete, prune. */
export function addStoreRunCommands(store: Command): void {
  store
    .command('export')
    .description(
      'Write a run with its rollouts, spans, metrics and resources into one file, without keys of endpoints.',
    )
    .argument('<run>', 'the id of a run')
    .option(
      '--out <file>',
      'the file to write, or - for standard output (default: standard output where it is redirected, otherwise <run>.agl-run.gz)',
    )
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--force', 'overwrite an existing file')
    .option('--json', jsonHelp)
    .addHelpText(
      'after',
      examples('agl store export run-1a2b3c4d --out run.agl-run.gz\n  agl store export run-1a2b3c4d > run.agl-run.gz'),
    )
    .action(async (runId: string, flags: ExportFlags) => {
      const { exportRun } = await import('./store-run-actions.ts');
      await exportRun(runId, flags);
    });
  store
    .command('import')
    .description('Import a run from a file of `agl store export`, atomically.')
    .argument('<file>', 'the file')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store import run.agl-run.gz --store postgres://localhost/agl'))
    .action(async (file: string, flags: RunFlags) => {
      const { importRunFromFile } = await import('./store-run-actions.ts');
      await importRunFromFile(file, flags);
    });
  addDeletionCommands(store);
}

function addDeletionCommands(store: Command): void {
  store
    .command('delete')
    .description('Delete runs with all their data, including checkpoints in the data directory, or single rollouts.')
    .option('--run <ids...>', 'runs that have ended')
    .option('--rollout <ids...>', 'finished rollouts')
    .option('--force', 'also active runs and runs with unfinished rollouts')
    .option('--data-dir <folder>', dataDirHelp)
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store delete --run run-1a2b3c4d run-5e6f7a8b'))
    .action(async (flags: DeleteFlags) => {
      const { deleteFromStore } = await import('./store-deletion-actions.ts');
      await deleteFromStore(flags);
    });
  store
    .command('prune')
    .description(
      'Delete old runs that have ended, with their checkpoints, and old finished rollouts without a run. Active runs are kept.',
    )
    .option(
      '--older-than <time>',
      'only runs and rollouts that changed or ended longer ago, such as 30d, 12h',
      durationMs,
    )
    .option('--keep-runs <n>', 'keep the newest runs', wholeNumber({ min: 0 }))
    .option(
      '--traces <deployment=time...>',
      'traces of a deployment that ended longer ago, such as support-agent=30d, instead of --older-than',
      traceAges,
    )
    .option('--dry-run', 'delete nothing; list the records and checkpoint folders to delete')
    .option('--data-dir <folder>', dataDirHelp)
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText(
      'after',
      examples('agl store prune --older-than 30d --keep-runs 10', 'With both flags, both conditions must hold.'),
    )
    .action(async (flags: PruneFlags) => {
      const { pruneStore } = await import('./store-deletion-actions.ts');
      await pruneStore(flags);
    });
}
