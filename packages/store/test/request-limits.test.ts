import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';

let store: SqlStore;
let server: StoreServer;

beforeEach(async () => {
  store = await openStore(':memory:');
  server = await createStoreServer({ store, port: 0, maxWaits: 2, headersTimeoutMs: 200, requestTimeoutMs: 400 });
});
afterEach(async () => {
  await server.close();
  await store.close();
});

/** Sends bytes unchanged and returns everything received until the server closes the connection. */
async function send(...pieces: string[]): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
  });
  // A connection may be reset when much more is sent than is read; the response counts.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  for (const piece of pieces) socket.write(piece);
  await closed;
  return received;
}

describe('the head of a request', () => {
  const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\nhost: localhost\r\nconnection: close\r\n\r\n`;

  test('is limited to 16 KiB', async () => {
    expect(await send(head('GET /v1/agl/health HTTP/1.1', `x: ${'y'.repeat(17_000)}`))).toMatch(/^HTTP\/1\.1 431 /);
  });

  test('is limited to 100 headers', async () => {
    const headers = (count: number): string[] => Array.from({ length: count }, (_, index) => `x-${index}: 1`);
    expect(await send(head('GET /v1/agl/health HTTP/1.1', ...headers(98)))).toMatch(/^HTTP\/1\.1 200 /);
    const refused = await send(head('GET /v1/agl/health HTTP/1.1', ...headers(99)));
    expect(refused).toMatch(/^HTTP\/1\.1 431 /);
    expect(refused).toContain('has 101 headers, the limit is 100');
  });

  test('is limited to a URL of 8 KiB', async () => {
    const address = (length: number): string => `/v1/agl/health?${'a'.repeat(length - '/v1/agl/health?'.length)}`;
    expect(await send(head(`GET ${address(8192)} HTTP/1.1`))).toMatch(/^HTTP\/1\.1 200 /);
    const refused = await send(head(`GET ${address(8193)} HTTP/1.1`));
    expect(refused).toMatch(/^HTTP\/1\.1 414 /);
    expect(refused).toContain('"remedy":"Send lists in a request body');
  });

  test('has a time limit', async () => {
    expect(await send('GET /v1/agl/health HTTP/1.1\r\nhost: localhost\r\nx-slow')).toMatch(/^HTTP\/1\.1 408 /);
  });
});

test('a body has a time limit', async () => {
  const head = [
    'POST /v1/agl/rollouts HTTP/1.1',
    'host: localhost',
    'content-type: application/json',
    'content-length: 100',
  ];
  expect(await send(`${head.join('\r\n')}\r\n\r\n`, '{')).toMatch(/^HTTP\/1\.1 408 /);
  expect((await store.queryRollouts()).total).toBe(0);
});

test('rejects requests that are not HTTP', async () => {
  expect(await send('not a request\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
});

test('limits waiting requests without affecting others', async () => {
  const waitFor = (seconds: number): Promise<Response> =>
    fetch(`${server.url}/v1/agl/queues/rollouts/dequeue`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ wait_seconds: seconds }),
    });
  const claim = waitFor(60);
  const gone = new AbortController();
  const events = await fetch(`${server.url}/v1/agl/events`, { signal: gone.signal });
  // The claim is in by the time that a further one is refused.
  let refused = await waitFor(0.001);
  await vi.waitFor(async () => {
    refused = await waitFor(0.001);
    expect(refused.status).toBe(429);
  }, 20_000);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ error: { code: 'RESOURCE_EXHAUSTED', details: { maxWaits: 2 } } });
  expect((await waitFor(0)).status).toBe(200);
  gone.abort();
  await events.text().catch(() => undefined);
  await vi.waitFor(async () => expect((await waitFor(0.001)).status).toBe(200), 20_000);
  await store.enqueueRollouts([{ input: 1 }]);
  expect(await (await claim).json()).toHaveLength(1);
});
