import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { assertReachable } from './assert-reachable.ts';

let server: Server | null = null;
afterEach(() => void server?.close());

/** A server that responds with these statuses in turn, and repeats the last one. */
async function serving(...statuses: number[]): Promise<{ readonly url: string; readonly requests: () => number }> {
  let requests = 0;
  server = createServer((_request, response) => {
    response.statusCode = statuses[Math.min(requests, statuses.length - 1)] ?? 200;
    requests += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests: () => requests };
}

const check = (url: string): Promise<void> =>
  assertReachable({ what: 'the gateway', url, remedy: 'Start it.', isFine: (status) => status === 200 });

test('retries a failed request', async () => {
  const { url, requests } = await serving(503, 200);
  await check(url);
  expect(requests()).toBe(2);
});

test('rejects with the status after three failed requests', async () => {
  const { url, requests } = await serving(503);
  await expect(check(url)).rejects.toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining('(503)') });
  expect(requests()).toBe(3);
});

test('rejects with the reason when the connection fails', async () => {
  const { url } = await serving(200);
  await new Promise((resolve) => server?.close(resolve));
  await expect(check(url)).rejects.toThrow(/the gateway does not respond \(.*ECONNREFUSED/);
});
