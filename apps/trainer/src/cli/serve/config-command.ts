import type { Command } from 'commander';
import type { SettingFlags } from './load-settings.ts';
import { addSettingFlags } from './setting-flags.ts';

/** Adds `agl config`. */
export function addConfigCommand(program: Command): void {
  const config = program.command('config').description('Inspect the settings of `agl server`.');
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
