import type { KeyRole } from '@agentlightning/store';
import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { durationMs } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { CreateKeyFlags, KeyFlags } from './key-actions.ts';

const roles: readonly KeyRole[] = ['worker', 'viewer', 'trainer', 'admin', 'ingest', 'feedback'];
const jsonHelp = 'the result as JSON, for programs';

/** Adds the commands on the keys of a store and its server: create, list, revoke. */
export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('Create, list and revoke the keys of `agl server` and `agl store`.')
    .addHelpText('after', `\n${rolesHelp}`);
  withStore(keys.command('create'))
    .description('Create a key and show it once: the store keeps only its digest.')
    .requiredOption('--name <words>', 'the holder, for the list')
    .addOption(new Option('--role <role>', 'its rights').choices(roles).makeOptionMandatory())
    .option('--project <name>', 'the project, created with its first key; keys of admins are for all')
    .option('--expires-in <time>', 'its lifetime, such as 30d (default: unlimited)', durationMs)
    .addHelpText(
      'after',
      examples('agl keys create --name "runners in Frankfurt" --role worker', `${rolesHelp}\n\n${lockHelp}`),
    )
    .action(async (flags: CreateKeyFlags) => {
      const { createKey } = await import('./key-actions.ts');
      await createKey(flags);
    });
  withStore(keys.command('list'))
    .description('List all keys, also revoked ones, without the keys themselves.')
    .addHelpText('after', examples('agl keys list --data .agl/server'))
    .action(async (flags: KeyFlags) => {
      const { listKeys } = await import('./key-actions.ts');
      await listKeys(flags);
    });
  withStore(keys.command('revoke'))
    .description('Revoke a key. Servers reject it within five seconds.')
    .argument('<id>', 'the id of a key, as `agl keys list` shows it')
    .addHelpText('after', examples('agl keys revoke 0123456789ab'))
    .action(async (keyId: string, flags: KeyFlags) => {
      const { revokeKey } = await import('./key-actions.ts');
      await revokeKey(keyId, flags);
    });
}

function withStore(command: Command): Command {
  return command
    .addOption(
      new Option('--store <url>', 'the database of the store: sqlite:<file> or postgres://…').default(defaultStoreUrl),
    )
    .addOption(new Option('--data <folder>', 'the data folder of `agl server`, instead of --store').conflicts('store'))
    .option('--json', jsonHelp);
}

const rolesHelp = `Roles:
  worker   claim rollouts, report on them, record spans, call models: for runners and gateways
  viewer   read everything, change nothing: for the dashboard
  trainer  both, and upload data, create and change runs, enqueue, publish resources
  admin    also delete, export and import runs, and manage the gateway
  ingest   record traces of production and feedback on them, read nothing: for applications
  feedback record feedback on traces of production, read nothing: for browsers
A key is for one project (default: default), and keys of another project see nothing of it. \`agl store\`
serves all projects; \`agl server\` serves the default one only.

Keys of attempts are tokens, which servers create for each attempt; \`agl store tokens revoke\` revokes one.`;

const lockHelp = 'From the first key on, a server of the store requires one, even when all are revoked.';
