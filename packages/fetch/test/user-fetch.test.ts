import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { withRollout } from '@agentlightning/core';
import { aRolloutContext, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { instrumentGlobalFetch, instrumentOpenAI, traceFetch } from '../src/index.ts';

const messages = [{ role: 'user' as const, content: 'What is 2 + 3?' }];

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Typical fetch functions that users pass to their clients. */
const fetches: readonly { readonly name: string; readonly own: Fetch }[] = [
  { name: 'forwards its arguments', own: (url, init) => fetch(url, init) },
  {
    name: 'sets its own timeout',
    own: (url, init) => {
      const limit = AbortSignal.timeout(60_000);
      return fetch(url, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, limit]) : limit });
    },
  },
  { name: 'creates a Request', own: (url, init) => fetch(new Request(url, init)) },
];

describe.for(fetches)('a user-supplied fetch that $name', ({ own }) => {
  test('sends calls that are recorded once', async () => {
    await using model = await ScriptedModel.start([respondWith('5')]);
    const sink = new MemorySpanSink();
    const undos = [instrumentOpenAI(OpenAI), instrumentGlobalFetch()];
    const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'x', fetch: own });
    await withRollout(aRolloutContext({ sink }), () => client.chat.completions.create({ model: 'tiny', messages }));
    for (const undo of undos) undo();
    expect(sink.spans).toHaveLength(1);
  });
});

test('model calls that a user-supplied fetch makes while sending a call are recorded too', async () => {
  await using model = await ScriptedModel.start(() => respondWith('5'));
  const sink = new MemorySpanSink();
  const undo = instrumentGlobalFetch();
  const own: Fetch = async (url, init) => {
    const body = JSON.stringify({ model: 'judge', messages: [{ role: 'user', content: 'Is it safe?' }] });
    await (await fetch(`${model.baseUrl}/chat/completions`, { method: 'POST', body })).text();
    // The forwarded request is recognised despite the additional parameter.
    return fetch(url, { method: 'POST', body: JSON.stringify({ ...JSON.parse(String(init?.body)), seed: 1 }) });
  };
  await withRollout(aRolloutContext({ sink }), async () => {
    const body = JSON.stringify({ model: 'tiny', messages });
    await (await traceFetch({ fetch: own })(`${model.baseUrl}/chat/completions`, { method: 'POST', body })).text();
  });
  undo();
  expect(sink.spans.map(({ attributes }) => attributes['gen_ai.request.model'])).toEqual(['judge', 'tiny']);
});

test('a user-supplied fetch receives headers of the type that its client creates', async () => {
  await using gateway = await ScriptedModel.start([respondWith('5'), respondWith('6')]);
  const endpoint = { baseUrl: gateway.baseUrl, model: 'policy', apiKey: 'gateway-key' };
  const own: Fetch = (url, init) => {
    // The `openai` client passes Headers to every fetch.
    const headers = init?.headers as Headers;
    headers.set('x-own', 'yes');
    return fetch(url, init);
  };
  const traced = new OpenAI({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'x', fetch: traceFetch({ fetch: own }) });
  const patched = new OpenAI({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'x', maxRetries: 0, fetch: own });
  const undo = instrumentOpenAI(OpenAI);
  await withRollout(aRolloutContext({ endpoint }), async () => {
    for (const client of [traced, patched]) await client.chat.completions.create({ model: 'tiny', messages });
  });
  undo();
  expect(gateway.requests.map(({ headers }) => [headers['x-own'], headers.authorization])).toEqual([
    ['yes', 'Bearer gateway-key'],
    ['yes', 'Bearer gateway-key'],
  ]);
});

test('a binary body is forwarded unchanged, even if it can be read only once', async () => {
  const bytes = Uint8Array.of(0xff, 0xfe, 0, 0x80, 0xc3, 0x28);
  const seen: unknown[] = [];
  const server = createServer(async (request, response) => {
    const parts: Uint8Array[] = [];
    for await (const part of request) parts.push(part as Uint8Array);
    seen.push([request.headers['content-type'], ...Buffer.concat(parts)]);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/conversations/1/messages`;
  const endpoint = { baseUrl: 'http://127.0.0.1:1/v1', model: 'policy', apiKey: null };
  await withRollout(aRolloutContext({ endpoint }), async () => {
    for (const body of [new Blob([bytes]).stream(), Readable.from([bytes])]) {
      await traceFetch()(url, { method: 'POST', body, duplex: 'half' });
    }
  });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(seen).toEqual([
    [undefined, ...bytes],
    [undefined, ...bytes],
  ]);
});
