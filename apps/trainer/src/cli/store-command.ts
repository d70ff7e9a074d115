import { createStoreServer, openStore } from '@agentlightning/store';
import type { Command } from 'commander';
import { wholeNumber } from './number-flag.ts';
import { serverLog } from './server-log.ts';
import { defaultStoreUrl } from './store-option.ts';
import { untilStopped } from './until-stopped.ts';

/** Adds `agl store`. */
export function addStoreCommand(program: Command): void {
  program
    .command('store')
    .description('Serve a store over HTTP (the Agent Lightning store protocol), for runners and trainers elsewhere.')
    .option('--db <url>', 'the store to serve: sqlite:<file>', defaultStoreUrl)
    .option('--host <host>', 'the address to bind to; any but loopback needs a key', '127.0.0.1')
    .option('--port <n>', 'the port; 0 takes any free one', wholeNumber({ min: 0, max: 65535 }), 4747)
    .addHelpText('after', '\nThe key is read from AGL_STORE_KEY; without one the server binds to loopback only.')
    .action(async (flags: { readonly db: string; readonly host: string; readonly port: number }) => {
      const log = serverLog('agl-store');
      const store = await openStore(flags.db);
      const apiKey = process.env['AGL_STORE_KEY'];
      const server = await createStoreServer({
        store,
        host: flags.host,
        port: flags.port,
        ...(apiKey === undefined ? {} : { apiKey }),
      });
      log.info({ url: server.url, db: flags.db, key: apiKey !== undefined }, 'store is up');
      process.stdout.write(`${JSON.stringify({ event: 'ready', url: server.url })}\n`);
      await untilStopped(async () => {
        await server.close();
        await store.close();
      });
      log.info('store has stopped');
    });
}
