import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { assertReachable } from './assert-reachable.ts';

let server: Server | null = null;
afterEach(() => void server?.close());

/** A server that answers these statuses in turn, and goes on with the last one. */
async function serving(...statuses: number[]): Promise<{ readonly url: string; readonly asked: () => number }> {
  let asked = 0;
  server = createServer((_request, response) => {
    response.statusCode = statuses[Math.min(asked, statuses.length - 1)] ?? 200;
    asked += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked: () => asked };
}

const look = (url: string): Promise<void> =>
  assertReachable({ what: 'the gateway', url, remedy: 'Start it.', isFine: (status) => status === 200 });

test('a server that misses one question is not gone', async () => {
  const { url, asked } = await serving(503, 200);
  await look(url);
  expect(asked()).toBe(2);
});

test('a server that misses three is, and the answer is named', async () => {
  const { url, asked } = await serving(503);
  await expect(look(url)).rejects.toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining('(503)') });
  expect(asked()).toBe(3);
});

test('a server that is not there is named with the reason', async () => {
  const { url } = await serving(200);
  await new Promise((resolve) => server?.close(resolve));
  await expect(look(url)).rejects.toThrow(/the gateway does not answer \(.*ECONNREFUSED/);
});
