/**
 * A store and its server, in a separate process as in production. Reports its URL when it listens, and its resource usage
 * on request.
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
  } else if (message === 'memory') {
    globalThis.gc?.();
    process.send?.(process.memoryUsage().rss);
  } else {
    const { user, system } = process.threadCpuUsage();
    process.send?.((user + system) / 1000);
  }
});
process.send?.({ url: server.url });
