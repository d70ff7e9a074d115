import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import { openStoreByUrl } from '../../runtime/open-store-by-url.ts';
import { storeHelp } from '../store-option.ts';
import { writeOutcome } from '../write-outcome.ts';
import { examples } from './store-file-commands.ts';

/** Adds the commands on attempt tokens: revoke. */
export function addStoreTokenCommands(store: Command): void {
  store
    .command('tokens')
    .description('Revoke the tokens of attempts.')
    .command('revoke')
    .description('Revoke one token of an attempt. Servers and gateways refuse it within five seconds.')
    .argument('<token>', 'the whole token: aglat.…')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'the result as one JSON object')
    .addHelpText('after', examples('agl store tokens revoke "$TOKEN" --store http://store:4747'))
    .action(async (token: string, { store: url, ...flags }: { readonly store: string; readonly json?: boolean }) => {
      const opened = await openStoreByUrl({ url, apiKey: process.env['AGL_STORE_KEY'] ?? null });
      try {
        await opened.revokeAttemptToken(token);
      } finally {
        await opened.close();
      }
      writeOutcome(flags, { record: { revoked: true }, text: 'Revoked the token.' });
    });
}
