import { AttemptTokens } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { traceFetch } from '@agentlightning/fetch';
import { serveGateway } from '@agentlightning/gateway';
import { createStoreServer, openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { afterEach, expect, test } from 'vitest';
import { runRollouts, runTask } from '../src/run-rollouts.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});
function open<TOpened extends { close(): Promise<void> }>(each: TOpened): TOpened {
  opened.push(each);
  return each;
}

test('a key with the role worker suffices for runners and gateways, and a token for agents', {
  timeout: 60_000,
}, async () => {
  const store = open(await openStore(':memory:'));
  const attemptTokens = new AttemptTokens({ secrets: ['s'.repeat(32)] });
  const { key } = await store.createAccessKey({ name: 'runners', role: 'worker' });
  const server = open(await createStoreServer({ store, port: 0, attemptTokens }));
  const remote = open(new StoreClient({ baseUrl: server.url, apiKey: key }));
  const model = open(await ScriptedModel.start(() => respondWith('It is 42.')));
  const upstream = { baseUrl: model.baseUrl, model: 'tiny' };
  const gateway = open(await serveGateway({ store: remote, upstream, attemptTokens }));
  await store.addResources({
    policy: {
      resourceType: 'proxy_llm',
      endpoint: `${gateway.url}/v1`,
      model: 'tiny',
      apiKey: null,
      samplingParameters: {},
    },
  });
  const client = new OpenAI({ apiKey: 'none', baseURL: 'http://nowhere.invalid/v1', fetch: traceFetch() });
  const errors: unknown[] = [];
  const common = {
    store: remote,
    createAttemptToken: (request: Parameters<StoreClient['createAttemptToken']>[0]) =>
      remote.createAttemptToken(request),
    events: { onError: (error: unknown) => errors.push(error) },
    heartbeatMs: 20,
    agent: async (): Promise<number> => {
      const reply = await client.chat.completions.create({
        model: 'any',
        messages: [{ role: 'user', content: 'Well?' }],
      });
      return reply.choices[0]?.message.content === 'It is 42.' ? 1 : 0;
    },
  };
  await store.enqueueRollouts([{ input: 1 }, { input: 2 }, { input: 3, config: { maxAttempts: 2 } }]);
  expect(await runRollouts({ ...common, concurrency: 2, stopWhenIdle: true })).toMatchObject({
    succeeded: 3,
    failed: 0,
  });
  expect(await runTask({ ...common, task: { input: 4 } })).toMatchObject({ ending: 'succeeded', reward: 1 });
  expect(errors).toEqual([]);
  const { items } = await store.searchSpans({ limit: 100 });
  expect(items.filter(({ name }) => name === 'agentlightning.rollout')).toHaveLength(4);
  expect(items.length).toBeGreaterThan(8);
});
