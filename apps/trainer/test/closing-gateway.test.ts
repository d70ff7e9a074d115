import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { findRewards } from '@agentlightning/core/spans';
import { traceFetch } from '@agentlightning/fetch';
import { type ServedGateway, serveGateway } from '@agentlightning/gateway';
import { type Agent, runRollouts } from '@agentlightning/runner';
import { openStore, type SqlStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { collectRollouts } from '../src/rollouts/collect-rollouts.ts';

const content = (text: string, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: text }, finish_reason: finish }] })}\n\n`;

/** A model whose first response stops in its middle, or does not begin. */
async function startModel(isStreamed: boolean, onFirst: () => void): Promise<Server> {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    if (isStreamed) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(content('fi', null));
    if (requests === 1) return onFirst();
    if (isStreamed) return response.end(`${content('ve', 'stop')}data: [DONE]\n\n`);
    const message = { role: 'assistant', content: 'five' };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(
        JSON.stringify({ id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const client = new OpenAI({ apiKey: 'none', baseURL: 'http://x.invalid/v1', maxRetries: 0, fetch: traceFetch() });

async function complete(isStreamed: boolean): Promise<string> {
  const request = { model: 'any', messages: [{ role: 'user' as const, content: '2 + 3?' }] };
  if (!isStreamed) return (await client.chat.completions.create(request)).choices[0]?.message.content ?? '';
  let text = '';
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? '';
  }
  return text;
}

let store: SqlStore;
let gateway: ServedGateway;
beforeEach(async () => {
  store = await openStore(':memory:');
});
afterEach(async () => {
  await gateway.close();
  await store.close();
});

async function publish(model: Server): Promise<void> {
  const { port } = model.address() as AddressInfo;
  gateway = await serveGateway({ store, upstream: { baseUrl: `http://127.0.0.1:${port}/v1` } });
  const policy = { endpoint: `${gateway.url}/v1`, model: 'tiny', apiKey: null, samplingParameters: {} };
  await store.updateResources('resources', { policy: { resourceType: 'proxy_llm', ...policy } });
}

test.each([
  ['throws', false],
  ['replaces', false],
  ['hides', false],
  ['throws', true],
  ['replaces', true],
  ['hides', true],
] as const)(
  'a rollout whose agent %s the error of a closing gateway (streamed: %s) is repeated',
  async (what, isStreamed) => {
    let hasCalled = (): void => undefined;
    const called = new Promise<void>((resolve) => {
      hasCalled = resolve;
    });
    const model = await startModel(isStreamed, hasCalled);
    await publish(model);
    const agent: Agent = async () => {
      try {
        return (await complete(isStreamed)) === 'five' ? 1 : 0;
      } catch (error) {
        if (what === 'hides') return 0;
        throw what === 'throws' ? error : new Error('no answer');
      }
    };
    const stop = new AbortController();
    const running = runRollouts({ store, agent, signal: stop.signal });
    const requests = [{ rolloutId: 'ro-1', input: null, resourcesId: 'resources', config: { maxAttempts: 1 } }];
    const collecting = collectRollouts(requests, {
      store,
      onProgress: () => undefined,
      signal: stop.signal,
      assertHealthy: () => publish(model),
      scoring: null,
      warn: () => undefined,
    });
    await called;
    await gateway.close();
    const [collected] = await collecting;
    stop.abort();
    await running;
    expect(collected?.failure).toBe(null);
    expect(findRewards(collected?.spans ?? []).map(({ rewards }) => rewards[0]?.value)).toEqual([1]);
    expect((await store.queryAttempts('ro-1')).total).toBe(2);
    model.closeAllConnections();
    model.close();
  },
);
