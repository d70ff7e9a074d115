import { AgentLightningError } from '@agentlightning/core';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReplayModels, ReplayView } from '../src/api/replay-views.ts';
import type { RolloutDetail } from '../src/api/rollout-views.ts';
import { type Dashboard, type Replayer, type ReplayRequest, serveDashboard } from '../src/index.ts';
import { fillStore, sampleRunId, sampleTexts } from './sample-store.ts';

const requests: ReplayRequest[] = [];

const replayer: Replayer = {
  models: async (runId) => (runId === null ? [] : [{ id: 'final', label: 'final checkpoint (step 3)' }]),
  complete: async (request) => {
    requests.push(request);
    if (request.model !== 'final') throw new AgentLightningError({ code: 'NOT_FOUND', message: 'no such model' });
    return { choices: [{ message: { role: 'assistant', content: 'There are 46.' }, finish_reason: 'stop' }] };
  },
};

let store: SqlStore;
let open: Dashboard;
let locked: Dashboard;
let without: Dashboard;

beforeAll(async () => {
  store = await openStore(':memory:');
  await fillStore(store);
  open = await serveDashboard({ store, replayer });
  locked = await serveDashboard({ store, replayer, viewerKey: 'view', annotatorKey: 'annotate' });
  without = await serveDashboard({ store });
});

afterAll(async () => {
  for (const dashboard of [open, locked, without]) await dashboard.close();
  await store.close();
});

async function replay(url: string, changes: object = {}, headers: Readonly<Record<string, string>> = {}) {
  const rollout = `${open.url}/api/rollouts/ro-2-1-2`;
  const { turns, attemptId } = (await (await fetch(rollout)).json()) as RolloutDetail;
  return await fetch(`${url}/api/rollouts/ro-2-1-2/spans/${turns[1]?.spanId}/replay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ attempt: attemptId, model: 'final', ...changes }),
  });
}

test('the recorded request is repeated without streaming, and the response is returned as messages', async () => {
  const models = (await (await fetch(`${open.url}/api/rollouts/ro-2-1-2/replay`)).json()) as ReplayModels;
  expect(models).toEqual({ items: [{ id: 'final', label: 'final checkpoint (step 3)' }], reason: null });
  const before = (await store.querySpans({ rolloutId: 'ro-2-1-2' })).total;
  const response = await replay(open.url, { temperature: 0.5 });
  const { messages, finishReason } = (await response.json()) as ReplayView;
  expect({ messages, finishReason }).toEqual({
    messages: [{ role: 'assistant', parts: [{ type: 'text', text: 'There are 46.' }] }],
    finishReason: 'stop',
  });
  const sent = requests.at(-1);
  expect(sent).toMatchObject({ runId: sampleRunId, model: 'final', policy: null, body: { temperature: 0.5 } });
  expect(sent?.body).not.toHaveProperty('stream');
  expect(JSON.stringify(sent?.body)).toContain(sampleTexts.task);
  expect((await store.querySpans({ rolloutId: 'ro-2-1-2' })).total).toBe(before);
});

test('viewers who may only read, other web pages and invalid requests are refused', async () => {
  const status = async (...sent: Parameters<typeof replay>) => (await replay(...sent)).status;
  const count = requests.length;
  expect(await status(locked.url, {}, { authorization: 'Bearer view' })).toBe(403);
  expect(await status(open.url, {}, { origin: 'https://attacker.example' })).toBe(403);
  expect(await status(open.url, { temperature: 9 })).toBe(400);
  expect(await status(open.url, { url: 'http://169.254.169.254' })).toBe(400);
  expect(await status(without.url)).toBe(404);
  expect(requests.length).toBe(count);
  expect(await status(locked.url, {}, { authorization: 'Bearer annotate' })).toBe(200);
  expect(await status(open.url, { model: 'other' })).toBe(404);
});

test('a dashboard without a model says how to get one', async () => {
  const models = (await (await fetch(`${without.url}/api/rollouts/ro-2-1-2/replay`)).json()) as ReplayModels;
  expect(models).toEqual({ items: [], reason: expect.stringContaining('agl dashboard --replay') });
});
