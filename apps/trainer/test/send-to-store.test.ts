import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asTool } from '@agentlightning/core';
import { createStoreServer, openStore } from '@agentlightning/store';
import { currentTrace, sampleTraces, sendToStore } from '@agentlightning/trace';
import { expect, test } from 'vitest';

test('a sampled call is a trace of the deployment, with what the application knows of it', async () => {
  const store = await openStore(':memory:');
  const server = await createStoreServer({ store, port: 0 });
  const onTrace = sendToStore({
    deployment: 'support',
    url: server.url,
    redact: (span) => ({ ...span, attributes: { ...span.attributes, secret: 'removed' } }),
  });
  const answer = sampleTraces(async (question: string) => `${question} ${currentTrace()?.id}`, {
    sampleRate: 1,
    details: (question) => ({ input: question, user: 'u1', conversation: 'c1', version: 'run-1@3' }),
    onTrace,
  });
  const id = (await answer('Where?')).split(' ')[1] ?? '';
  await onTrace.flush();
  expect(onTrace.counts).toEqual({ stored: 1, lost: 0, waiting: 0 });
  expect(await store.getRollout(id)).toMatchObject({
    runId: 'support',
    mode: 'production',
    status: 'succeeded',
    input: 'Where?',
    metadata: { 'agentlightning.deployment.version': 'run-1@3', 'user.id': 'u1', 'gen_ai.conversation.id': 'c1' },
  });
  expect((await store.querySpans({ rolloutId: id })).items).toMatchObject([{ attributes: { secret: 'removed' } }]);
  expect(currentTrace()).toBeNull();
  await server.close();
  await store.close();
});

test('details that cannot be read do not reach the caller', () => {
  const answer = sampleTraces((question: string) => question.length, {
    sampleRate: 1,
    details: () => {
      throw new Error('no session');
    },
    onTrace: () => undefined,
  });
  expect(answer('Where?')).toBe(6);
});

test.each(['does not respond', 'refuses connections', 'responds with 503'])(
  'with a store that %s, calls are as fast as before and traces wait up to a bound',
  async (fault) => {
    const server = createServer((_request, response) => {
      if (fault === 'responds with 503') response.writeHead(503).end();
    });
    const url = await listening(server);
    if (fault === 'refuses connections') server.close();
    const onTrace = sendToStore({ deployment: 'support', url, maxWaitingSpans: 500, onError: () => undefined });
    const search = asTool('search', (query: string) => query.length);
    const plain = async (question: string): Promise<number> => search(question) + search(`${question} again`);
    const answer = sampleTraces(plain, { sampleRate: 1, onTrace });
    // In turns, and their median: other work of the machine slows single rounds down.
    const added: number[] = [];
    for (let round = 0; round < 7; round += 1) added.push(-(await p99Of(plain)) + (await p99Of(answer)));
    expect(added.toSorted((one, other) => one - other)[3]).toBeLessThan(1);
    expect(await answer('Where?')).toBe(await plain('Where?'));
    await expect.poll(() => onTrace.counts.lost).toBeGreaterThan(0);
    expect(onTrace.counts.waiting).toBeLessThanOrEqual(600);
    server.closeAllConnections();
    server.close();
  },
);

function listening(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}

async function p99Of(call: (question: string) => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 1000; index += 1) {
    const startMs = performance.now();
    await call('Where is my parcel?');
    times.push(performance.now() - startMs);
  }
  return times.toSorted((one, other) => one - other)[989] ?? Number.POSITIVE_INFINITY;
}
