/**
 * A gateway and its store, in a separate process as in production. Reports the URLs of attempts when it listens,
 * and its resource usage on request.
 *
 * @module
 */
import { attemptBaseUrl } from '@agentlightning/core/store';
import { serveGateway } from '@agentlightning/gateway';
import { openStore } from '@agentlightning/store';

const [file = ':memory:', upstreamUrl = '', attemptCount = '1'] = process.argv.slice(2);
const store = await openStore(file);
const gateway = await serveGateway({ store, upstream: { baseUrl: upstreamUrl, model: 'benchmark' } });
const urls = await Promise.all(
  Array.from({ length: Number(attemptCount) }, async (_, index) => {
    const { rolloutId, attempt } = await store.startRollout({ input: { index } });
    return attemptBaseUrl(`${gateway.url}/v1`, { rolloutId, attemptId: attempt.attemptId });
  }),
);

process.on('message', (message) => {
  if (message === 'close') void close();
  else void reportUsage();
});
// The parent may end without a message.
process.on('disconnect', () => process.exit(0));
process.send?.({ urls });

async function reportUsage(): Promise<void> {
  // Objects of the last calls are released in later turns of the event loop.
  for (let turn = 0; turn < 3; turn += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const { totalSpans } = await store.statistics();
  process.send?.({
    rssBytes: rss,
    heapBytes: heapUsed + external + arrayBuffers,
    spanCount: totalSpans,
  });
}

async function close(): Promise<void> {
  await gateway.close();
  await store.close();
  process.disconnect();
}
