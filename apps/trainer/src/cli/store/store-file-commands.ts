import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import type { BackupFlags, FileFlags, MigrateFlags } from './store-file-actions.ts';

const fileHelp = 'the store: sqlite:<file>';
const jsonHelp = 'the result as one JSON object, for programs';

/** Adds the commands on the file of a store: backup, restore, vacuum, migrate. */
export function addStoreFileCommands(store: Command): void {
  store
    .command('backup')
    .description('Back up a store that may be in use: a consistent, verified copy in one file.')
    .argument('<file>', 'the file to write')
    .option('--store <url>', fileHelp, defaultStoreUrl)
    .option('--force', 'overwrite an existing file')
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store backup backups/agl.db', 'For PostgreSQL use pg_dump.'))
    .action(async (file: string, flags: BackupFlags) => {
      const { backup } = await import('./store-file-actions.ts');
      await backup(file, flags);
    });
  store
    .command('restore')
    .description('Replace a store by a backup. The store must not be open.')
    .argument('<file>', 'a file that `agl store backup` wrote')
    .option('--store <url>', fileHelp, defaultStoreUrl)
    .option('--force', 'overwrite an existing store')
    .option('--json', jsonHelp)
    .addHelpText(
      'after',
      examples('agl store restore backups/agl.db --force', 'For PostgreSQL use pg_restore or psql.'),
    )
    .action(async (file: string, flags: BackupFlags) => {
      const { restore } = await import('./store-file-actions.ts');
      await restore(file, flags);
    });
  store
    .command('vacuum')
    .description('Return the space of deleted rollouts to the disk.')
    .option('--store <url>', fileHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store prune --older-than 30d && agl store vacuum'))
    .action(async (flags: FileFlags) => {
      const { vacuum } = await import('./store-file-actions.ts');
      await vacuum(flags);
    });
  store
    .command('migrate')
    .description('Migrate the schema of a store, which also happens when it is opened; or list due migrations.')
    .option('--store <url>', 'the store: sqlite:<file> or postgres://…', defaultStoreUrl)
    .option('--dry-run', 'only list due migrations')
    .option('--json', jsonHelp)
    .addHelpText(
      'after',
      examples('agl store migrate --dry-run', 'Make a backup first: migrations cannot be reverted.'),
    )
    .action(async (flags: MigrateFlags) => {
      const { migrate } = await import('./store-file-actions.ts');
      await migrate(flags);
    });
}

/** Help text below a command's flags: examples and notes. */
export function examples(example: string, note?: string): string {
  return `\nExample:\n  ${example}${note === undefined ? '' : `\n\n${note}`}`;
}
