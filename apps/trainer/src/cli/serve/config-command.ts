import type { Command } from 'commander';
import type { SettingFlags } from './load-settings.ts';
import { addSettingFlags } from './setting-flags.ts';

/** Adds `agl config`. */
export function addConfigCommand(program: Command): void {
  const config = program
    .command('config')
    .description('Rewrite a configuration of a former version; inspect the settings of `agl server`.');
  config
    .command('migrate')
    .description('Rename the former keys of a configuration file.')
    .argument('[config]', 'the configuration file', 'agl.config.ts')
    .option('--dry-run', 'print the new file, without writing it')
    .option('--json', 'print one JSON object')
    .action(async (file: string, flags: { readonly dryRun?: boolean; readonly json?: boolean }) => {
      const { migrateConfig } = await import('../project/migrate-config.ts');
      await migrateConfig(file, flags);
    });
  const print = config
    .command('print')
    .description('Print the settings of `agl server` with value and origin: flag, variable or line.')
    .option('--json', 'print one JSON object');
  addSettingFlags(print).action(async ({ json = false, ...flags }: SettingFlags & { readonly json?: boolean }) => {
    const { printConfig } = await import('./print-config.ts');
    await printConfig(flags, { json });
  });
  config
    .command('schema')
    .description('Print the JSON Schema of the configuration file of `agl server`, for editors.')
    .action(async () => {
      const { settingsJsonSchema } = await import('../../server/settings/setting-table.ts');
      process.stdout.write(`${JSON.stringify(settingsJsonSchema(), null, 2)}\n`);
    });
}
