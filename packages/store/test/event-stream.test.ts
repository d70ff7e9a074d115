import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StoreClient } from '@agentlightning/core/store-client';
import { ManualClock } from '@agentlightning/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';
import { createStoreApp } from '../src/server/store-app.ts';

let store: SqlStore;
let server: StoreServer;

beforeAll(async () => {
  store = await openStore(':memory:');
  server = await createStoreServer({ store, port: 0, heartbeatMs: 20 });
});

afterAll(async () => {
  await server.close();
  await store.close();
});

/** Follows the events of a URL until the text that came satisfies a condition, then leaves. */
async function textUntil(
  path: string,
  isEnough: (text: string) => boolean,
  init: RequestInit & { onText?: (text: string) => Promise<void> } = {},
): Promise<string> {
  const leave = new AbortController();
  const response = await fetch(`${server.url}/v1/agl${path}`, { ...init, signal: leave.signal });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    await init.onText?.(text);
    if (isEnough(text)) break;
  }
  leave.abort();
  return text;
}

describe('the event stream', () => {
  test('has an id, a kind and the change as JSON, and resumes after an id', async () => {
    let isEnqueued = false;
    const text = await textUntil('/events?kind_in=rollout', (so) => so.includes('queuing'), {
      onText: async (so) => {
        if (isEnqueued || !so.includes('unknown')) return;
        isEnqueued = true;
        await store.enqueueRollouts([{ input: 1 }, { input: 2 }]);
      },
    });
    const [first = '', second = ''] = text.split('\n\n').filter((block) => !block.startsWith(':'));
    expect(first).toMatch(/^id: \w+-\d+\nevent: unknown\ndata: \{"kind":"unknown"\}$/);
    expect(second).toMatch(
      /^id: \w+-\d+\nevent: rollout\ndata: \{"kind":"rollout","rollout_id":"ro-\w+","run_id":null,"status":"queuing"\}$/,
    );
    const lastId = /^id: (.+)$/m.exec(second)?.[1] ?? '';
    const rest = await textUntil('/events?kind_in=rollout', (so) => so.includes('event: '), {
      headers: { 'last-event-id': lastId },
    });
    expect(rest).not.toContain('unknown');
    expect(rest).toContain('queuing');
  });

  test('sends heartbeats while idle', async () => {
    expect(await textUntil('/events?run_id=none', (text) => text.split(': still here\n\n').length > 2)).toContain(
      'event: unknown',
    );
  });

  test('rejects unknown kinds', async () => {
    const response = await fetch(`${server.url}/v1/agl/events?kind_in=weather`);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ error: { code: 'VALIDATION' } });
  });

  test('ends with the server', async () => {
    const closing = await createStoreServer({ store, port: 0 });
    const response = await fetch(`${closing.url}/v1/agl/events`);
    const reading = response.text();
    await closing.close();
    expect(await reading).toContain('event: unknown');
  });

  test('of a stalled client uses bounded memory and ends with unknown', async () => {
    const app = createStoreApp({
      store,
      apiKey: null,
      maxBodyBytes: 1000,
      heartbeatMs: 60_000,
      closing: new AbortController().signal,
      onFault: () => undefined,
    });
    // No network in between, whose buffers would take a part of what is not read.
    const reader = (await app.request('http://localhost/v1/agl/events')).body?.getReader();
    const decoder = new TextDecoder();
    const readOne = async (): Promise<string> => decoder.decode((await reader?.read())?.value);
    expect(await readOne()).toContain('event: unknown');
    await store.enqueueRollouts(Array.from({ length: 10_000 }, (_, input) => ({ input })));
    expect(await readOne()).toContain('event: unknown');
    const { resourcesId } = await store.addResources({});
    expect(await readOne()).toContain(resourcesId);
    await reader?.cancel();
  });
});

describe('a wait as a stream', () => {
  test('is one request of any duration, and is kept alive', async () => {
    const [rollout] = await store.enqueueRollouts([{ input: 1 }]);
    const rolloutId = rollout?.rolloutId ?? '';
    const body = JSON.stringify({ rollout_ids: [rolloutId], timeout: null });
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
    let isEnded = false;
    const text = await textUntil('/waits/rollouts', (so) => so.includes('finished'), {
      method: 'POST',
      headers,
      body,
      onText: async (so) => {
        if (isEnded || so.split(': still here').length < 3) return;
        isEnded = true;
        await store.updateRollout(rolloutId, { status: 'cancelled' });
      },
    });
    expect(text).toMatch(/event: finished\ndata: \[\{"rollout_id":"ro-/);
  });

  test('of rollouts that are deleted ends with the error', async () => {
    const client = new StoreClient({ baseUrl: server.url });
    const { rolloutId } = await store.startRollout({ input: 1 });
    const other = await store.startRollout({ input: 2 });
    const waiting = client.waitForRollouts([rolloutId, other.rolloutId]);
    const refused = expect(waiting).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await store.updateRollout(rolloutId, { status: 'cancelled' });
    await store.deleteRollouts([rolloutId]);
    await store.updateRollout(other.rolloutId, { status: 'cancelled' });
    await refused;
  });
});

describe('a client whose connection breaks', () => {
  test('resumes after the last received change', async () => {
    await using proxy = await aProxyTo(server.port);
    const client = new StoreClient({ baseUrl: proxy.url });
    const changes = client.watchChanges({ kindIn: ['resources'] })[Symbol.asyncIterator]();
    expect((await changes.next()).value).toEqual({ kind: 'unknown' });
    const first = await store.addResources({});
    expect((await changes.next()).value).toMatchObject({ resourcesId: first.resourcesId });
    proxy.cut();
    const second = await store.addResources({});
    expect((await changes.next()).value).toMatchObject({ resourcesId: second.resourcesId });
    await client.close();
  });

  test('waits on', async () => {
    await using proxy = await aProxyTo(server.port);
    const client = new StoreClient({ baseUrl: proxy.url });
    const { rolloutId } = await store.startRollout({ input: 1 });
    const waiting = client.waitForRollouts([rolloutId]);
    await proxy.requested(1);
    proxy.cut();
    await proxy.requested(2);
    await store.updateRollout(rolloutId, { status: 'cancelled' });
    expect(await waiting).toMatchObject([{ rolloutId, status: 'cancelled' }]);
  });

  test('sends one request for a wait of any length', async () => {
    const clock = new ManualClock();
    const slow = await openStore(':memory:', { clock });
    const behind = await createStoreServer({ store: slow, port: 0 });
    await using proxy = await aProxyTo(behind.port);
    const client = new StoreClient({ baseUrl: proxy.url, clock });
    const { rolloutId } = await slow.startRollout({ input: 1 });
    const waiting = client.waitForRollouts([rolloutId], { timeoutMs: 10 * 3_600_000 });
    await clock.waitForSleepers(1);
    await clock.advance(10 * 3_600_000);
    expect(await waiting).toEqual([]);
    expect(proxy.requests()).toBe(1);
    await behind.close();
    await slow.close();
  });
});

interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts every connection. */
  readonly cut: () => void;
  readonly requests: () => number;
  /** Resolves when so many requests came. */
  readonly requested: (count: number) => Promise<void>;
}

/** Passes requests on, and can cut them. */
async function aProxyTo(port: number): Promise<Proxy> {
  let requests = 0;
  let notify: () => void = () => undefined;
  const proxy: Server = createServer((incoming, outgoing) => {
    const onward = httpRequest({ port, path: incoming.url, method: incoming.method, headers: incoming.headers });
    onward.on('response', (response) => {
      requests += 1;
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
      response.on('error', () => outgoing.destroy());
      notify();
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut: () => proxy.closeAllConnections(),
    requests: () => requests,
    requested: async (count) => {
      while (requests < count) {
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      }
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        proxy.close(() => resolve());
        proxy.closeAllConnections();
      }),
  };
}
