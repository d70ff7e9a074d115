import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { StoreClient } from './store-client.ts';

test.each([
  ['claim', (client: StoreClient): Promise<unknown> => client.claimRollouts({ waitMs: 600 })],
  ['wait', (client: StoreClient): Promise<unknown> => client.waitForRollouts(['ro-1'], { timeoutMs: 600 })],
])('a %s polls a server without long polling, such as Agent Lightning 0.3, a few times per second', async (_, ask) => {
  let requests = 0;
  const server = createServer((incoming, response) => {
    requests += 1;
    incoming.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await ask(new StoreClient({ baseUrl: `http://127.0.0.1:${port}` }))).toEqual([]);
  expect(requests).toBeGreaterThan(1);
  expect(requests).toBeLessThan(10);
  server.closeAllConnections();
  server.close();
});
