import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { openStoreByUrl } from '../../runtime/open-store-by-url.ts';
import { writeOutcome } from '../error-text.ts';
import { durationMs, storeHelp, traceAges, wholeNumber } from '../flags.ts';
import { tokenSecretHelp } from '../serve/attempt-token-secret.ts';
import type { StoreFlags } from './serve-store.ts';
import { addStoreFileCommands, examples } from './store-file-commands.ts';
import { addStoreRunCommands } from './store-run-commands.ts';

/** Adds `agl store` and the commands below it. */
export function addStoreCommand(program: Command): void {
  const store = program
    .command('store')
    .description('Serve a store over HTTP for remote runners and trainers, or maintain a store with a command below.')
    .option('--db <url>', 'the store to serve: sqlite:<file> or postgres://…', defaultStoreUrl)
    .option('--host <host>', 'the address to bind to; any except loopback requires a key', '127.0.0.1')
    .option('--port <n>', 'the port; 0 for any free one', wholeNumber({ min: 0, max: 65535 }), 4747)
    .option(
      '--prune-older-than <time>',
      'automatically delete runs and rollouts that ended longer ago, such as 30d',
      durationMs,
    )
    .option(
      '--prune-traces <deployment=time...>',
      'automatically delete traces of a deployment that ended longer ago, such as support-agent=30d',
      traceAges,
    )
    .option('--prune-keep-runs <n>', 'with automatic deletion, keep the newest runs', wholeNumber({ min: 0 }))
    .option('--max-attempt-spans <n>', 'spans of an attempt (default: 100000)', wholeNumber({ min: 1 }))
    .option('--max-attempt-bytes <n>', 'bytes of all spans of an attempt (default: 256 MiB)', wholeNumber({ min: 1 }))
    .option('--max-span-bytes <n>', 'bytes of one span (default: 8 MiB)', wholeNumber({ min: 1 }))
    .option('--max-span-events <n>', 'events of one span (default: 1000)', wholeNumber({ min: 1 }))
    .option('--max-reward-dimensions <n>', 'dimensions of one reward (default: 100)', wholeNumber({ min: 1 }))
    .addHelpText('after', keysHelp)
    .action(async (flags: StoreFlags) => {
      const { serveStore } = await import('./serve-store.ts');
      await serveStore(flags);
    });
  addStoreFileCommands(store);
  addStoreRunCommands(store);
  addStoreTokenCommands(store);
}

const keysHelp = `
Keys: AGL_STORE_KEY has all rights; \`agl keys create\` creates keys with fewer rights.
Without any, the server binds to loopback only.
${tokenSecretHelp}`;

/** Adds the commands on attempt tokens: revoke. */
function addStoreTokenCommands(store: Command): void {
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
