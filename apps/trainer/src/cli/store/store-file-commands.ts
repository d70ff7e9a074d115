import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import type { BackupFlags, FileFlags, MigrateFlags } from './store-file-actions.ts';

const fileHelp = 'the store: sqlite:<file>';
const jsonHelp = 'the outcome as one JSON object, for programs';

/** Adds what is done to a store's file: backup, restore, vacuum, migrate. */
export function addStoreFileCommands(store: Command): void {
  store
    .command('backup')
    .description('Back up a store that may be in use: a consistent, verified copy in one file.')
    .argument('<file>', 'the file to write')
    .option('--store <url>', fileHelp, defaultStoreUrl)
    .option('--force', 'overwrite a file that is there')
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
    .option('--force', 'overwrite a store that is there')
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
    .description('Give the room that deleted rollouts took back to the disk.')
    .option('--store <url>', fileHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store prune --older-than 30d && agl store vacuum'))
    .action(async (flags: FileFlags) => {
      const { vacuum } = await import('./store-file-actions.ts');
      await vacuum(flags);
    });
  store
    .command('migrate')
    .description("Bring a store's schema up to date, as opening it does too; or see what that would do.")
    .option('--store <url>', 'the store: sqlite:<file> or postgres://…', defaultStoreUrl)
    .option('--dry-run', 'change nothing, only say what is due')
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store migrate --dry-run', 'Make a backup first: there is no way back.'))
    .action(async (flags: MigrateFlags) => {
      const { migrate } = await import('./store-file-actions.ts');
      await migrate(flags);
    });
}

/** Text below a command's flags: how it is used, and what is good to know. */
export function examples(example: string, note?: string): string {
  return `\nExample:\n  ${example}${note === undefined ? '' : `\n\n${note}`}`;
}
