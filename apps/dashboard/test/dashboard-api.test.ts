import type { Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallTokens, RolloutDetail, RolloutPage, SpanView } from '../src/api/rollout-views.ts';
import type { RunDetail, RunList, RunMetrics, TaskMap } from '../src/api/run-views.ts';
import type { WorkerList } from '../src/api/store-views.ts';
import { type Dashboard, serveDashboard } from '../src/index.ts';
import { fillStore, sample, sampleRunId, sampleTexts } from './sample-store.ts';

let store: SqlStore;
let dashboard: Dashboard;
let rolloutIds: readonly string[];

/** Operations of a store that change it. */
const isWrite = (name: string): boolean =>
  /^(enqueue|start|claim|update|append|next|add|create|delete|apply|import)/.test(name);

/** A store that fails on every write. */
function readOnly(target: Store): Store {
  return new Proxy(target, {
    get: (object, name) => {
      if (typeof name === 'string' && isWrite(name)) throw new Error(`The dashboard called ${name}`);
      const value: unknown = Reflect.get(object, name, object);
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
}

beforeAll(async () => {
  store = await openStore(':memory:');
  rolloutIds = await fillStore(store);
  const warningExplanations = { 'constant-groups': { cause: 'Tasks are too easy.', remedy: 'Use harder tasks.' } };
  dashboard = await serveDashboard({ store: readOnly(store), warningExplanations, label: 'memory' });
});

afterAll(async () => {
  await dashboard.close();
  await store.close();
});

async function get<TView>(path: string): Promise<TView> {
  const response = await fetch(`${dashboard.url}${path}`);
  const body = (await response.json()) as TView;
  expect({ status: response.status, ...(response.ok ? {} : { body }) }).toEqual({ status: 200 });
  return body;
}

async function failure(path: string): Promise<{ status: number; code: string; remedy: string }> {
  const response = await fetch(`${dashboard.url}${path}`);
  const { error } = (await response.json()) as { error: { code: string; remedy: string } };
  return { status: response.status, code: error.code, remedy: error.remedy };
}

test('runs are listed with progress, rewards and warnings', async () => {
  const { items, hasMore } = await get<RunList>('/api/runs');
  expect([items.length, hasMore]).toEqual([1, false]);
  expect(items[0]).toMatchObject({
    runId: sampleRunId,
    name: sampleTexts.name,
    kind: 'training',
    status: 'finished',
    liveness: 'ended',
    step: sample.steps,
    steps: sample.steps,
    rewardBefore: 0.2,
    rewardAfter: 0.8,
    verdict: 'better',
    rewardCurve: [0.25, 0.5, 0.75],
    warnings: 1,
    trainedTokens: 300,
    // 36 rollouts with two calls of 3 input and 3 output tokens, and three steps of 3 s.
    cost: { amount: expect.closeTo(72 * 0.009 + 0.009, 9), currency: 'EUR', missing: [] },
  });
});

test.each(['evaluation', 'prompt-search'] as const)('a run of the kind %s is not shown as a training', async (kind) => {
  const other = await openStore(':memory:');
  await other.createRun({ runId: 'other', name: 'other', config: {} });
  await other.updateRun('other', { state: { kind } });
  const served = await serveDashboard({ store: readOnly(other), label: 'memory' });
  const { items } = (await (await fetch(`${served.url}/api/runs`)).json()) as RunList;
  expect(items).toMatchObject([{ kind }]);
  await served.close();
  await other.close();
});

test('a run has evaluations in order, explained warnings, statistics and failures by cause', async () => {
  const run = await get<RunDetail>(`/api/runs/${sampleRunId}`);
  expect(run.evaluations.map(({ step, reward }) => [step, reward])).toEqual([
    [0, 0.2],
    [2, 0.5],
    [3, 0.8],
  ]);
  expect(run.runWarnings).toEqual([
    {
      name: 'constant-groups',
      step: 2,
      policy: null,
      message: sampleTexts.warning,
      cause: 'Tasks are too easy.',
      remedy: 'Use harder tasks.',
    },
  ]);
  expect(run.publications).toMatchObject([
    { step: 2, version: 2, durationMs: 250, probe: { gap: 0.002 } },
    { step: 1, version: 1, probe: null },
  ]);
  expect(run.failures).toEqual({ agent_error: 3, timeout: 0 });
  expect(run.statistics).toMatchObject({ totalRollouts: 36, rolloutsByStatus: { failed: 3, succeeded: 33 } });
});

test('a running run without heartbeats of its trainer is silent', async () => {
  const other = await openStore(':memory:');
  await other.createRun({ runId: 'run-1', name: 'running', config: {} });
  await other.updateWorker('trainer-run-1');
  const livenessAfter = async (ms: number): Promise<string> => {
    const clock = { ...systemClock, now: () => systemClock.now() + ms };
    const later = await serveDashboard({ store: other, clock });
    const run = (await (await fetch(`${later.url}/api/runs/run-1`)).json()) as RunDetail;
    await later.close();
    return run.liveness;
  };
  expect(await livenessAfter(0)).toBe('live');
  // The clock of a dashboard on another machine is ahead.
  expect(await livenessAfter(15_100)).toBe('live');
  expect(await livenessAfter(-60_000)).toBe('live');
  expect(await livenessAfter(60_000)).toBe('silent');
  await other.updateRun('run-1', { status: 'stopped' });
  expect(await livenessAfter(60_000)).toBe('ended');
  await other.close();
});

test('metrics are down-sampled to buckets that keep their extremes', async () => {
  const every = await get<RunMetrics>(`/api/runs/${sampleRunId}/metrics`);
  expect(every).toMatchObject({ steps: [1, 2, 3], totalSteps: 3, bucketSize: 1 });
  expect(every.series.find(({ name }) => name === 'reward/mean')).toEqual({
    name: 'reward/mean',
    mean: [0.25, 0.5, 0.75],
  });
  const two = await get<RunMetrics>(`/api/runs/${sampleRunId}/metrics?points=2`);
  expect(two).toMatchObject({ steps: [2, 3], bucketSize: 2 });
  expect(two.series.find(({ name }) => name === 'reward/mean')).toEqual({
    name: 'reward/mean',
    mean: [0.375, 0.75],
    low: [0.25, 0.75],
    high: [0.5, 0.75],
  });
});

test('the task map has the mean and the spread of the rewards of each task and step', async () => {
  const map = await get<TaskMap>(`/api/runs/${sampleRunId}/tasks`);
  expect(map).toMatchObject({ steps: [1, 2, 3], range: [0.5, 0.75] });
  expect(map.tasks.map(({ taskIndex, cells }) => [taskIndex, cells.length])).toEqual([
    [0, 3],
    [1, 3],
    [2, 3],
    [3, 3],
  ]);
  expect(map.tasks[0]?.cells[0]).toEqual({
    step: 1,
    reward: 0.75,
    spread: 0.5,
    rollouts: 3,
    failed: 1,
  });
  expect(map.tasks[1]?.cells[0]).toMatchObject({ reward: 0.5, spread: 1, failed: 0 });
});

/** The ids of all pages of a list. */
async function allPages(query: string): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const path = `/api/rollouts?${query}${cursor === null ? '' : `&cursor=${cursor}`}`;
    const page: RolloutPage = await get<RolloutPage>(path);
    ids.push(...page.items.map(({ rolloutId }) => rolloutId));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return ids;
}

test.each(['newest', 'oldest', 'reward-high', 'reward-low'])(
  'pages in the order %s have every rollout once, although many share a value',
  async (sort) => {
    const ids = await allPages(`sort=${sort}&limit=7`);
    // The first sample of the first task of each step failed, without a reward.
    const listed = sort.startsWith('reward') ? rolloutIds.filter((id) => !id.endsWith('-0-0')) : rolloutIds;
    expect(ids).toHaveLength(listed.length);
    expect(new Set(ids)).toEqual(new Set(listed));
  },
);

test('rollouts that arrive between two pages do not shift the next page', async () => {
  const first = await get<RolloutPage>('/api/rollouts?limit=5');
  await store.enqueueRollouts([{ rolloutId: 'ro-late', input: 'late' }]);
  const second = await get<RolloutPage>(`/api/rollouts?limit=5&cursor=${first.nextCursor}`);
  await store.updateRollout('ro-late', { status: 'cancelled' });
  await store.deleteRollouts(['ro-late']);
  const ids = new Set(first.items.map(({ rolloutId }) => rolloutId));
  expect(second.items.filter(({ rolloutId }) => ids.has(rolloutId) || rolloutId === 'ro-late')).toEqual([]);
});

test('rollouts are filtered by status, task, step, group, id and reward', async () => {
  const ids = async (query: string): Promise<readonly string[]> =>
    (await get<RolloutPage>(`/api/rollouts?sort=oldest&${query}`)).items.map(({ rolloutId }) => rolloutId);
  expect(await ids('status=failed')).toEqual(['ro-1-0-0', 'ro-2-0-0', 'ro-3-0-0']);
  expect(await ids('status=failed,cancelled&step=2')).toEqual(['ro-2-0-0']);
  expect(await ids(`task=3&step=2&run=${sampleRunId}`)).toEqual(['ro-2-3-0', 'ro-2-3-1', 'ro-2-3-2']);
  expect(await ids('group=step-1/2')).toEqual(['ro-1-2-0', 'ro-1-2-1', 'ro-1-2-2']);
  expect(await ids('id=-3-1-')).toEqual(['ro-3-1-0', 'ro-3-1-1', 'ro-3-1-2']);
  expect(await ids(`run=${sampleRunId}&minReward=0.9&task=1`)).toEqual(['ro-1-1-2', 'ro-2-1-2', 'ro-3-1-2']);
  expect(await ids('mode=val')).toEqual([]);
  expect(await ids('text=such%20part&step=2')).toEqual(['ro-2-0-0']);
  expect(await ids('text=stock%20THE*&step=1&task=1&minReward=0.5')).toEqual(['ro-1-1-1', 'ro-1-1-2']);
  expect(await ids('text=absent')).toEqual([]);
});

test('a row has the reward, or the failure of its latest attempt', async () => {
  const { items } = await get<RolloutPage>('/api/rollouts?sort=oldest&task=0&step=1');
  expect(items.map(({ reward }) => reward)).toEqual([null, 0.5, 1]);
  expect(items[0]?.failure).toMatchObject({ code: 'AGENT_FAILED', origin: 'agent' });
  expect(items[1]).toMatchObject({ step: 1, taskIndex: 0, attempts: 1, workerId: sampleTexts.worker, failure: null });
});

test('a rollout has its attempts, trace, conversation, rewards and siblings', async () => {
  const detail = await get<RolloutDetail>('/api/rollouts/ro-2-1-2');
  expect(detail.attempts).toHaveLength(1);
  expect(detail.cost).toEqual({ amount: expect.closeTo(2 * 0.009, 9), currency: 'EUR', missing: [] });
  expect(detail.trace.map(({ kind, depth }) => [kind, depth])).toEqual([
    ['rollout', 0],
    ['model-call', 1],
    ['tool-call', 1],
    ['model-call', 1],
    ['reward', 0],
  ]);
  const [first, second] = detail.turns;
  expect(first).toMatchObject({ knownMessages: 0, continues: null });
  expect(first?.inputMessages.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(second).toMatchObject({ knownMessages: 2, continues: first?.spanId });
  expect(second?.inputMessages.map(({ role }) => role)).toEqual(['assistant', 'tool']);
  expect(detail.rewards.map(({ value }) => value)).toEqual([1]);
  expect(detail.siblings.map(({ rolloutId, reward }) => [rolloutId, reward])).toEqual([
    ['ro-2-1-0', 0],
    ['ro-2-1-1', 0.5],
    ['ro-2-1-2', 1],
  ]);
});

test('a model call has its tokens and its raw bodies', async () => {
  const { turns, attemptId } = await get<RolloutDetail>('/api/rollouts/ro-2-1-2');
  const base = `/api/rollouts/ro-2-1-2/spans/${turns[0]?.spanId}`;
  const tokens = await get<CallTokens>(`${base}/tokens?attempt=${attemptId}`);
  expect(tokens).toMatchObject({ promptTokenIds: [1, 2, 3], isTrainable: true, policyVersion: 0 });
  expect(tokens.choices[0]?.tokenIds).toEqual([4, 5, 6]);
  expect(tokens.choices[0]?.logprobs).toHaveLength(3);
  expect(tokens.texts).toEqual(['There', ' are', sampleTexts.answer]);
  const span = await get<SpanView>(`${base}?attempt=${attemptId}`);
  expect(JSON.parse(span.requestBody ?? '')).toMatchObject({ messages: [{ role: 'system' }, { role: 'user' }] });
});

test('runners, gateways with their upstreams and other workers are listed with the time of the server', async () => {
  const { runners, gateways, others, nowMs } = await get<WorkerList>('/api/workers');
  expect(runners).toMatchObject([{ workerId: 'runner-1', state: 'running', running: 3, concurrency: 8, runId: null }]);
  expect(gateways).toMatchObject([
    { workerId: 'gateway-1', isLost: false, inFlight: 5, runId: sampleRunId, upstreams: [{ isUp: false, queued: 2 }] },
  ]);
  expect(others.toSorted((left, right) => Number(left.isEnded) - Number(right.isEnded))).toMatchObject([
    { workerId: sampleTexts.worker, isLost: false, isEnded: false },
    { workerId: 'trainer-ended', isLost: false, isEnded: true },
  ]);
  expect(nowMs).toBeGreaterThan(0);
});

test('unknown ids, routes and parameters are errors with a code and a remedy', async () => {
  expect(await failure('/api/runs/run-none')).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  expect(await failure('/api/runs/run-none/tasks')).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  expect(await failure('/api/rollouts/ro-none')).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  expect(await failure('/api/rollouts/ro-1-0-0?attempt=at-none')).toMatchObject({ status: 404 });
  expect(await failure('/api/none')).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  expect(await failure('/api/rollouts?status=lost')).toMatchObject({ status: 400, code: 'VALIDATION' });
  expect(await failure('/api/rollouts?colour=red')).toMatchObject({ status: 400, code: 'VALIDATION' });
  expect(await failure('/api/rollouts?cursor=%00')).toMatchObject({ status: 400, code: 'VALIDATION' });
  expect(await failure('/api/rollouts?limit=many')).toMatchObject({ status: 400, code: 'VALIDATION' });
  expect(await failure('/api/rollouts?text=%2A')).toMatchObject({ status: 400, code: 'VALIDATION' });
});

test('other methods than GET are not found', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const response = await fetch(`${dashboard.url}/api/runs/${sampleRunId}`, { method });
    expect(response.status).toBe(404);
  }
});
