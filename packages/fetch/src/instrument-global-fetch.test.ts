import { withRollout } from '@agentlightning/core';
import { aRolloutContext, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { afterEach, expect, test } from 'vitest';
import { instrumentGlobalFetch } from './instrument-global-fetch.ts';
import { traceFetch } from './trace-fetch.ts';

const original = globalThis.fetch;
const messages = [{ role: 'user' as const, content: 'hi' }];

afterEach(() => {
  globalThis.fetch = original;
});

async function spansOf(model: ScriptedModel, client: OpenAI): Promise<number> {
  const sink = new MemorySpanSink();
  await withRollout(aRolloutContext({ sink }), () => client.chat.completions.create({ model: 'tiny', messages }));
  expect(model.requests.length).toBeGreaterThan(0);
  return sink.spans.length;
}

test('a client created under the patch is traced until the patch is undone', async () => {
  await using model = await ScriptedModel.start(() => respondWith('hi'));
  const undo = instrumentGlobalFetch();
  const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'x' });
  expect(await spansOf(model, client)).toBe(1);
  undo();
  undo();
  expect(globalThis.fetch).toBe(original);
  expect(await spansOf(model, client), 'the client kept the patched function').toBe(0);
});

test('a call is recorded once under two patches and with a traced client', async () => {
  await using model = await ScriptedModel.start(() => respondWith('hi'));
  const undoFirst = instrumentGlobalFetch();
  const undoSecond = instrumentGlobalFetch();
  expect(await spansOf(model, new OpenAI({ baseURL: model.baseUrl, apiKey: 'x' }))).toBe(1);
  expect(await spansOf(model, new OpenAI({ baseURL: model.baseUrl, apiKey: 'x', fetch: traceFetch() }))).toBe(1);
  const twice = traceFetch({ fetch: traceFetch() });
  expect(await spansOf(model, new OpenAI({ baseURL: model.baseUrl, apiKey: 'x', fetch: twice }))).toBe(1);
  undoFirst();
  expect(await spansOf(model, new OpenAI({ baseURL: model.baseUrl, apiKey: 'x' }))).toBe(1);
  undoSecond();
  expect(await spansOf(model, new OpenAI({ baseURL: model.baseUrl, apiKey: 'x' }))).toBe(0);
});

test('a traced fetch assigned to globalThis.fetch does not recurse', async () => {
  await using model = await ScriptedModel.start(() => respondWith('hi'));
  globalThis.fetch = traceFetch();
  expect(await spansOf(model, new OpenAI({ baseURL: model.baseUrl, apiKey: 'x' }))).toBe(1);
});
