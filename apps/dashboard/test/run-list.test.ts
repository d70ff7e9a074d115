import type { JsonObject } from '@agentlightning/core';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunComparison, RunDetail, RunList } from '../src/api/run-views.ts';
import { type Dashboard, serveDashboard } from '../src/index.ts';

let store: SqlStore;
let dashboard: Dashboard;

const measured = (rewards: readonly number[]): JsonObject => ({
  reward: rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length,
  ci95: [0, 1],
  rollouts: rewards.length,
  failed: 0,
  missing: 0,
  rewards,
  rolloutIds: rewards.map((_, index) => `ro-${index}`),
});

const tasks = (fingerprint: string): JsonObject => ({ rollouts: { 'tasks.test': fingerprint } });

/** Rewards of ten tasks: the second list is higher by 0.1 or 0.2 in each. */
const low = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.8];
const high = low.map((reward, index) => reward + (index % 2 === 0 ? 0.1 : 0.2));

const search: JsonObject = {
  kind: 'prompt-search',
  measuredOn: 'test',
  ended: 'finished',
  best: 'v1',
  spent: { rollouts: 484, optimizerCalls: 24, unusableReplies: 3 },
  versions: [0.25, 1].map((score, index) => ({
    version: `v${index}`,
    prompts: { system: { resourceType: 'prompt_template', template: 'Answer.', engine: 'f-string' } },
    parents: [],
    score,
    scoredTasks: 1,
    taskScores: [score],
  })),
  before: measured([0]),
  after: measured([1]),
};

const runs: readonly (readonly [id: string, config: JsonObject, state: JsonObject])[] = [
  ['run-dev', { purpose: 'development' }, { kind: 'evaluation' }],
  ['run-eval', { purpose: 'evaluation' }, { kind: 'evaluation', before: null, after: measured([1]) }],
  ['run-low', { tags: ['sweep', 'lr-1'], ...tasks('10 tasks (a)') }, { after: measured(low) }],
  ['run-high', { tags: ['sweep'], ...tasks('10 tasks (a)') }, { after: measured(high) }],
  ['run-other', tasks('10 tasks (b)'), { after: measured(high) }],
  ['run-search', {}, search],
];

const imitation: JsonObject = { rewardCurve: [1, 1], lossCurve: [2, null, 1] };

beforeAll(async () => {
  store = await openStore(':memory:');
  for (const [runId, config, state] of runs) {
    await store.createRun({ runId, name: `name of ${runId}`, config });
    await store.updateRun(runId, { status: runId === 'run-low' ? 'failed' : 'finished', state });
  }
  dashboard = await serveDashboard({ store });
});

afterAll(async () => {
  await dashboard.close();
  await store.close();
});

async function get<TView>(path: string): Promise<TView> {
  return (await (await fetch(dashboard.url + path)).json()) as TView;
}

test.each([
  ['kind=training,prompt-search,evaluation', ['run-search', 'run-other', 'run-high', 'run-low', 'run-eval']],
  ['kind=dev', ['run-dev']],
  ['text=NAME OF RUN-L', ['run-low']],
  ['text=lr-1', ['run-low']],
  ['tag=sweep', ['run-high', 'run-low']],
  ['tag=sweep&status=failed', ['run-low']],
  ['status=failed,stopped', ['run-low']],
])('runs are filtered by %s', async (query, expected) => {
  const { items, tags } = await get<RunList>(`/api/runs?${query}`);
  expect(items.map(({ runId }) => runId)).toEqual(expected);
  expect(tags).toEqual(['lr-1', 'sweep']);
});

test('a list that ends at its limit says so, and an unknown kind is an error', async () => {
  const { items, hasMore } = await get<RunList>('/api/runs?limit=2');
  expect([items.map(({ runId }) => runId), hasMore]).toEqual([['run-search', 'run-other'], true]);
  expect(await get('/api/runs?kind=none')).toMatchObject({ error: { code: 'VALIDATION' } });
});

test('a finished prompt search has its rewards before and after, and what it spent', async () => {
  const run = await get<RunDetail>('/api/runs/run-search');
  expect(run).toMatchObject({ kind: 'prompt-search', rewardBefore: 0, rewardAfter: 1 });
  const expected = { versions: 2, best: 'v1', firstScore: 0.25, bestScore: 1, hasEnded: true, measuredOn: 'test' };
  expect(run.search).toEqual({ ...expected, kinds: {}, rollouts: 484, optimizerCalls: 24, unusableReplies: 3 });
  expect((await get<RunDetail>('/api/runs/run-low')).search).toBeNull();
});

test('a training that imitates has the curve of its loss, another one none', async () => {
  await store.updateRun('run-other', { state: imitation });
  expect((await get<RunDetail>('/api/runs/run-other')).lossCurve).toEqual([2, 1]);
  expect((await get<RunDetail>('/api/runs/run-low')).lossCurve).toEqual([]);
  await store.updateRun('run-other', { state: { after: measured(high) } });
});

test('runs with the same tasks are compared task by task, others as independent samples', async () => {
  const compared = '/api/comparison?runs=run-low,run-high,run-other,run-dev';
  const { differences } = await get<RunComparison>(compared);
  const [paired, independent, none] = differences;
  expect(paired).toMatchObject({ runId: 'run-high', difference: expect.closeTo(0.15, 9), isPaired: true });
  expect(paired?.pValue).toBeLessThan(0.001);
  expect(independent).toMatchObject({ runId: 'run-other', difference: expect.closeTo(0.15, 9), isPaired: false });
  expect(independent?.pValue).toBeGreaterThan(0.2);
  expect(none).toEqual({ runId: 'run-dev', difference: null, ci95: null, pValue: null, isPaired: false });
  expect(await get('/api/comparison?runs=run-low,run-none')).toMatchObject({ error: { code: 'NOT_FOUND' } });
});
