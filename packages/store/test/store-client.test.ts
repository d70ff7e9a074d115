import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StoreClient } from '@agentlightning/core/store-client';
import { ManualClock } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { createStoreServer, openStore } from '../src/index.ts';

describe('a request whose response is lost', () => {
  test('is retried and has one effect', async () => {
    await using setup = await withLossyNetwork();
    const { client, store, loseNextResponse } = setup;
    loseNextResponse();
    const [rollout] = await client.enqueueRollouts([{ input: 1 }]);
    const rolloutId = rollout?.rolloutId ?? '';
    loseNextResponse();
    expect(await client.claimRollouts()).toMatchObject([{ rolloutId, attempt: { sequenceId: 1 } }]);
    loseNextResponse();
    expect((await client.startAttempt(rolloutId)).attempt.sequenceId).toBe(2);
    loseNextResponse();
    await client.addResources({});
    loseNextResponse();
    const attemptId = (await client.getLatestAttempt(rolloutId))?.attemptId ?? '';
    loseNextResponse();
    expect(await client.nextSpanSequenceIds([{ rolloutId, attemptId }])).toEqual([1]);
    loseNextResponse();
    await client.createRun({ runId: 'run-1', name: 'once', config: {} });
    loseNextResponse();
    expect((await client.updateResources('rs-1', {})).version).toBe(1);
    loseNextResponse();
    await client.updateRollout(rolloutId, { status: 'requeuing' });
    loseNextResponse();
    expect((await client.startRollout({ input: 2 })).attempt.sequenceId).toBe(1);
    expect(setup.lost()).toBe(10);
    expect(await store.statistics()).toMatchObject({ totalRollouts: 2, totalAttempts: 3, totalResources: 2 });
  });
});

describe('a server that fails', () => {
  test('is retried until it recovers', async () => {
    let calls = 0;
    await using server = await listen((_, response) => {
      calls += 1;
      response.statusCode = calls < 3 ? 503 : 200;
      response.setHeader('content-type', 'application/json');
      response.end(calls < 3 ? 'not yet' : JSON.stringify(null));
    });
    const client = new StoreClient({ baseUrl: server.url });
    expect(await client.getWorker('worker-1')).toBeNull();
    expect(calls).toBe(3);
  });

  test('fails with UNREACHABLE when the retries are exhausted', async () => {
    const server = await listen(() => undefined);
    await server[Symbol.asyncDispose]();
    const client = new StoreClient({ baseUrl: server.url, maxRetries: 2 });
    await expect(client.statistics()).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining(server.url),
      remedy: expect.stringContaining('agl store'),
    });
  });

  test('is retried for a duration instead of a number of retries', async () => {
    let calls = 0;
    await using server = await listen((_, response) => {
      calls += 1;
      response.statusCode = 503;
      response.end('{}');
    });
    const client = new StoreClient({ baseUrl: server.url, maxRetries: 0, unreachableAfterMs: 250 });
    await expect(client.statistics()).rejects.toThrow();
    expect(calls).toBeGreaterThan(1);
  });

  test('times out when it never responds', async () => {
    await using server = await listen(() => undefined);
    const client = new StoreClient({ baseUrl: server.url, maxRetries: 1, requestTimeoutMs: 50 });
    await expect(client.statistics()).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  test('is not retried when it rejects the request', async () => {
    let calls = 0;
    await using server = await listen((_, response) => {
      calls += 1;
      response.statusCode = 401;
      response.end(JSON.stringify({ detail: 'who are you?' }));
    });
    const client = new StoreClient({ baseUrl: server.url });
    await expect(client.statistics()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(calls).toBe(1);
  });

  test('causes an error when its response is invalid', async () => {
    await using server = await listen((_, response) => response.end(JSON.stringify({ hello: 'world' })));
    const client = new StoreClient({ baseUrl: server.url });
    await expect(client.getRollout('ro-1')).rejects.toMatchObject({
      code: 'VALIDATION',
      message: expect.stringContaining('rollout_id'),
    });
  });
});

describe('waiting over HTTP', () => {
  test('continues a wait beyond the limit of one request', async () => {
    const clock = new ManualClock();
    const store = await openStore(':memory:', { clock });
    const server = await createStoreServer({ store, port: 0 });
    const client = new StoreClient({ baseUrl: server.url, clock });
    const waiting = client.claimRollouts({ waitMs: 50_000 });
    for (let poll = 0; poll < 2; poll += 1) {
      await clock.waitForSleepers(1);
      await clock.advance(20_000);
    }
    await clock.waitForSleepers(1);
    await store.enqueueRollouts([{ input: 'at last' }]);
    expect(await waiting).toMatchObject([{ input: 'at last' }]);
    await server.close();
    await store.close();
  });

  test('ends when the client is closed', async () => {
    const clock = new ManualClock();
    const store = await openStore(':memory:', { clock });
    const server = await createStoreServer({ store, port: 0 });
    const client = new StoreClient({ baseUrl: server.url, clock });
    const waiting = client.claimRollouts({ waitMs: 50_000 });
    await clock.waitForSleepers(1);
    await client.close();
    expect(await waiting).toEqual([]);
    await server.close();
    await store.close();
  });
});

test('a base URL may end in a slash or in the path of the protocol', async () => {
  const store = await openStore(':memory:');
  const server = await createStoreServer({ store, port: 0 });
  for (const ending of ['', '/', '/v1/agl', '/v1/agl/']) {
    const client = new StoreClient({ baseUrl: server.url + ending });
    expect(await client.statistics()).toMatchObject({ name: 'http', totalRollouts: 0 });
  }
  await server.close();
  await store.close();
});

test.each(['http://agl:hunter@store:4747', 'http://hunter@store', 'http://agl:hun/ter@store'])(
  'an address such as %s is refused, without the password that it has',
  (baseUrl) => {
    const refused = expect(() => new StoreClient({ baseUrl }));
    refused.toThrow(/^\[CONFIG\] The store's address http:\/\/…@store(:4747)? has a user or a password in it$/);
  },
);

/** A client over a network that loses the response to a request, after the server has executed it. */
async function withLossyNetwork(): Promise<
  AsyncDisposable & {
    readonly client: StoreClient;
    readonly store: Awaited<ReturnType<typeof openStore>>;
    readonly loseNextResponse: () => void;
    readonly lost: () => number;
  }
> {
  const store = await openStore(':memory:');
  const server = await createStoreServer({ store, port: 0 });
  let isLosing = false;
  let lost = 0;
  const fetchAndLose: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!isLosing) return response;
    isLosing = false;
    lost += 1;
    await response.arrayBuffer();
    throw new TypeError('fetch failed: the connection was cut');
  };
  return {
    client: new StoreClient({ baseUrl: server.url, fetch: fetchAndLose }),
    store,
    loseNextResponse: () => {
      isLosing = true;
    },
    lost: () => lost,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await store.close();
    },
  };
}

async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server: Server = createServer(handle).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
