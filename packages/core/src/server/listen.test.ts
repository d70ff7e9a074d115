import { createServer, get } from 'node:http';
import { expect, test } from 'vitest';
import { listen } from './listen.ts';
import { hostAndPort } from './listen-address.ts';

test('a server listens on the given port, or on a free one', async () => {
  const server = createServer((_, response) => response.end('here'));
  const host = '127.0.0.1';
  const port = await listen(server, 'the gateway', { host, port: 0 });
  const status = new Promise<number | undefined>((resolve, reject) => {
    get(`http://${hostAndPort({ host, port })}`, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    }).on('error', reject);
  });
  expect(await status).toBe(200);

  const other = createServer();
  await expect(listen(other, 'the store', { host, port })).rejects.toMatchObject({
    code: 'PORT_IN_USE',
    message: `[PORT_IN_USE] the store cannot listen on 127.0.0.1:${port}: another program has the port`,
  });
  await new Promise((resolve) => server.close(resolve));
  expect(await listen(other, 'the store', { host, port })).toBe(port);
  await new Promise((resolve) => other.close(resolve));
});

test('an IPv6 address is in brackets', () => {
  expect(hostAndPort({ host: '::1', port: 4747 })).toBe('[::1]:4747');
  expect(hostAndPort({ host: 'store.example', port: 80 })).toBe('store.example:80');
});
