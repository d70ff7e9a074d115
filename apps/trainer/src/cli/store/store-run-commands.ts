import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import { durationMs } from '../duration-flag.ts';
import { wholeNumber } from '../number-flag.ts';
import { storeHelp } from '../store-option.ts';
import type { DeleteFlags, PruneFlags } from './store-deletion-actions.ts';
import { examples } from './store-file-commands.ts';
import type { ExportFlags, RunFlags } from './store-run-actions.ts';

const dataDirHelp =
  'where checkpoints may be deleted: the data directory of the runs (default: the folder of the store file)';
const jsonHelp = 'the outcome as one JSON object, for programs';

/** Adds what is done to runs as a whole: export, import, delete, prune. */
export function addStoreRunCommands(store: Command): void {
  store
    .command('export')
    .description(
      'Write a run with its rollouts, spans, metrics and resources into one file, without keys of endpoints.',
    )
    .argument('<run>', 'the id of a run')
    .option('--out <file>', 'the file to write (default: <run>.agl-run.gz)')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--force', 'overwrite a file that is there')
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store export run-1a2b3c4d --out run.agl-run.gz'))
    .action(async (runId: string, flags: ExportFlags) => {
      const { exportRunToFile } = await import('./store-run-actions.ts');
      await exportRunToFile(runId, flags);
    });
  store
    .command('import')
    .description('Add a run from a file that `agl store export` wrote: all of it, or nothing.')
    .argument('<file>', 'the file')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store import run.agl-run.gz --store postgres://localhost/agl'))
    .action(async (file: string, flags: RunFlags) => {
      const { importRunFromFile } = await import('./store-run-actions.ts');
      await importRunFromFile(file, flags);
    });
  store
    .command('delete')
    .description(
      'Delete runs with everything they hold, checkpoints in the data directory included, or single rollouts.',
    )
    .option('--run <ids...>', 'runs that are over')
    .option('--rollout <ids...>', 'rollouts that are finished')
    .option('--force', 'also runs that are under way or have unfinished rollouts')
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
      'Delete what is old: runs that are over, with their checkpoints, and finished rollouts of no run. Nothing that is under way.',
    )
    .option('--older-than <time>', 'only what changed or ended longer ago, such as 30d, 12h', durationMs)
    .option('--keep-runs <n>', 'keep the newest runs', wholeNumber({ min: 0 }))
    .option('--dry-run', 'delete nothing; list how much and which checkpoint folders would be')
    .option('--data-dir <folder>', dataDirHelp)
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText(
      'after',
      examples('agl store prune --older-than 30d --keep-runs 10', 'With both flags, both must hold.'),
    )
    .action(async (flags: PruneFlags) => {
      const { pruneStore } = await import('./store-deletion-actions.ts');
      await pruneStore(flags);
    });
}
