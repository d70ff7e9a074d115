import type { Command } from 'commander';
import { defaultStoreUrl } from '../config/default-store-url.ts';
import { wholeNumber } from './number-flag.ts';
import type { StoreFlags } from './serve-store.ts';

/** Adds `agl store`. */
export function addStoreCommand(program: Command): void {
  program
    .command('store')
    .description('Serve a store over HTTP (the Agent Lightning store protocol), for runners and trainers elsewhere.')
    .option('--db <url>', 'the store to serve: sqlite:<file>', defaultStoreUrl)
    .option('--host <host>', 'the address to bind to; any but loopback needs a key', '127.0.0.1')
    .option('--port <n>', 'the port; 0 takes any free one', wholeNumber({ min: 0, max: 65535 }), 4747)
    .addHelpText('after', '\nThe key is read from AGL_STORE_KEY; without one the server binds to loopback only.')
    .action(async (flags: StoreFlags) => {
      const { serveStore } = await import('./serve-store.ts');
      await serveStore(flags);
    });
}
