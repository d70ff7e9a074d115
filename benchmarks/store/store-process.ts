/**
 * A store and its server, alone in a process as in production. Tells its URL when it listens, and its memory
 * whenever it is asked.
 *
 * @module
 */
import { createStoreServer, openStore } from '@agentlightning/store';

const [location = ':memory:'] = process.argv.slice(2);
const store = await openStore(location);
const server = await createStoreServer({ store, port: 0 });
process.on('message', (message) => {
  if (message === 'close') {
    void server.close().then(async () => {
      await store.close();
      process.disconnect();
    });
  } else {
    globalThis.gc?.();
    process.send?.({ rssBytes: process.memoryUsage().rss });
  }
});
process.send?.({ url: server.url });
