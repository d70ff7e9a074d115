import type { AccessScope } from '@agentlightning/store';
import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import { durationMs } from '../duration-flag.ts';
import { examples } from './store-file-commands.ts';
import type { CreateKeyFlags, KeyFlags } from './store-key-actions.ts';

const storeHelp = 'the store itself: sqlite:<file> or postgres://…';
const scopes: readonly AccessScope[] = ['runner', 'trainer', 'admin'];
const jsonHelp = 'the outcome as JSON, for programs';

/** Adds what is done with the keys that clients of a store's server carry: create, list, revoke. */
export function addStoreKeyCommands(store: Command): void {
  const keys = store
    .command('keys')
    .description('Make and revoke the keys that runners, trainers and people carry when they call a store server.')
    .addHelpText('after', `\n${scopesHelp}`);
  keys
    .command('create')
    .description('Make a key and show it, this once: the store keeps only its digest.')
    .requiredOption('--name <words>', 'who is to have it, for the list')
    .addOption(new Option('--scope <scope>', 'what it may do').choices(scopes).makeOptionMandatory())
    .option('--expires-in <time>', 'how long it is good for, such as 30d (default: for ever)', durationMs)
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText(
      'after',
      examples('agl store keys create --name "runners in Frankfurt" --scope runner', `${scopesHelp}\n\n${lockHelp}`),
    )
    .action(async (flags: CreateKeyFlags) => {
      const { createKey } = await import('./store-key-actions.ts');
      await createKey(flags);
    });
  keys
    .command('list')
    .description('List the keys there have been, without the keys themselves.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store keys list'))
    .action(async (flags: KeyFlags) => {
      const { listKeys } = await import('./store-key-actions.ts');
      await listKeys(flags);
    });
  keys
    .command('revoke')
    .description('Make a key worth nothing. Servers know within five seconds.')
    .argument('<id>', 'the id of a key, as `agl store keys list` shows it')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', jsonHelp)
    .addHelpText('after', examples('agl store keys revoke 0123456789ab'))
    .action(async (keyId: string, flags: KeyFlags) => {
      const { revokeKey } = await import('./store-key-actions.ts');
      await revokeKey(keyId, flags);
    });
}

const scopesHelp = `Scopes:
  runner   claim rollouts, report on them, record spans: for runners and gateways
  trainer  also enqueue, read everything, publish resources, keep runs
  admin    also delete, and carry runs away and in`;

const lockHelp = 'From the first key on, a server of the store asks for one, also when all were revoked.';
