import { feedbackFromSpan, findReview } from '@agentlightning/core/internal';
import { aSpan } from '@agentlightning/core/testing';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RolloutDetail, RolloutPage } from '../src/api/rollout-views.ts';
import { type Dashboard, serveDashboard } from '../src/index.ts';
import { fillStore } from './sample-store.ts';

const viewerKey = 'key of viewers';
const annotatorKey = 'key of annotators';

let store: SqlStore;
let open: Dashboard;
let locked: Dashboard;

beforeAll(async () => {
  store = await openStore(':memory:');
  await fillStore(store);
  open = await serveDashboard({ store, annotator: store });
  locked = await serveDashboard({ store, annotator: store, viewerKey, annotatorKey });
});

afterAll(async () => {
  await open.close();
  await locked.close();
  await store.close();
});

interface Sent {
  readonly url?: string;
  readonly rollout?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The status of a request to annotate. */
async function annotate({ url = open.url, rollout = 'ro-1-1-2', body = { label: 'good' }, headers = {} }: Sent) {
  const response = await fetch(`${url}/api/rollouts/${rollout}/annotations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return response.status;
}

async function get<TView>(path: string): Promise<TView> {
  return (await (await fetch(`${open.url}${path}`)).json()) as TView;
}

test('a label, a comment and a preference are recorded, shown and filtered', async () => {
  expect(await annotate({ body: { label: 'good', comment: 'correct and concise' } })).toBe(204);
  expect(await annotate({ body: { preferredOver: 'ro-1-1-0' } })).toBe(204);
  expect(await annotate({ body: { correction: 'Seven.' } })).toBe(204);
  expect(await annotate({ rollout: 'ro-1-1-0', body: { label: 'bad' } })).toBe(204);
  const { review, rollout } = await get<RolloutDetail>('/api/rollouts/ro-1-1-2');
  expect(review).toEqual({
    label: 'good',
    comment: 'correct and concise',
    correction: 'Seven.',
    preferredOver: ['ro-1-1-0'],
  });
  expect(rollout).toMatchObject({ label: 'good', reward: 1, status: 'succeeded' });
  const ids = async (query: string) =>
    (await get<RolloutPage>(`/api/rollouts?${query}`)).items.map(({ rolloutId }) => rolloutId);
  expect(await ids('label=good')).toEqual(['ro-1-1-2']);
  expect(await ids('label=any&sort=oldest')).toEqual(['ro-1-1-0', 'ro-1-1-2']);
  expect(await ids('label=none&task=1&step=1')).toEqual(['ro-1-1-1']);
  expect(await ids('text=concise')).toEqual(['ro-1-1-2']);
  expect(await annotate({ body: { label: 'none', comment: '' } })).toBe(204);
  expect(await ids('label=good')).toEqual([]);
});

test('invalid annotations are rejected, and nothing is recorded', async () => {
  const before = (await store.querySpans({ rolloutId: 'ro-1-2-2' })).total;
  for (const body of [
    {},
    null,
    { label: 'great' },
    { comment: 'x'.repeat(4001) },
    { reward: 1 },
    { preferredOver: '' },
  ]) {
    expect(await annotate({ rollout: 'ro-1-2-2', body })).toBe(400);
  }
  expect(await annotate({ rollout: 'ro-1-2-2', body: { preferredOver: 'ro-none' } })).toBe(404);
  expect(await annotate({ rollout: 'ro-none' })).toBe(404);
  await store.enqueueRollouts([{ rolloutId: 'ro-queued', input: 1 }]);
  expect(await annotate({ rollout: 'ro-queued' })).toBe(409);
  expect((await store.querySpans({ rolloutId: 'ro-1-2-2' })).total).toBe(before);
});

test('viewers cannot annotate, nor can other web pages and dashboards that only read', async () => {
  const as = (key: string) => annotate({ url: locked.url, headers: { authorization: `Bearer ${key}` } });
  expect([await as('wrong'), await as(viewerKey), await as(annotatorKey)]).toEqual([401, 403, 204]);
  expect(await annotate({ url: locked.url })).toBe(401);
  expect(await annotate({ headers: { origin: 'http://attacker.example' } })).toBe(403);
  const reading = await serveDashboard({ store });
  expect(await annotate({ url: reading.url })).toBe(404);
  await reading.close();
  const unkeyed = await serveDashboard({ store, annotator: store, viewerKey });
  expect(await annotate({ url: unkeyed.url, headers: { authorization: `Bearer ${viewerKey}` } })).toBe(403);
  await unkeyed.close();
});

test('the key for annotations permits viewing, also after sign-in', async () => {
  const body = new URLSearchParams({ key: annotatorKey });
  const signedIn = await fetch(`${locked.url}/session`, { method: 'POST', body, redirect: 'manual' });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await fetch(`${locked.url}/api/runs`, { headers: { cookie } })).status).toBe(200);
  expect(await annotate({ url: locked.url, headers: { cookie } })).toBe(204);
});

test('other spans are not feedback', () => {
  expect(
    feedbackFromSpan(aSpan({ name: 'step', attributes: { 'agentlightning.annotation.label': 'good' } })),
  ).toBeNull();
  const attributes = { 'agentlightning.annotation.label': 'great', 'agentlightning.reward.0.value': 1 };
  expect(feedbackFromSpan(aSpan({ name: 'agentlightning.annotation', attributes }))).toBeNull();
  expect(findReview([])).toEqual({ label: null, comment: '', correction: '', preferredOver: [] });
});

test.each([
  ['null', 400],
  ['[]', 400],
  ['"x"', 400],
  ['{"label":', 400],
  ['{"comment":"\\ud800\\u0000"}', 204],
  [`{"comment":"${'x'.repeat(40_000)}"}`, 413],
])('a body %# is reported by its status', async (body, status) => {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  expect((await fetch(`${open.url}/api/rollouts/ro-1-1-1/annotations`, init)).status).toBe(status);
});

test.each(['%00', 'no%20id', '%E0%A4%A', 'x'.repeat(200)])('the invalid id %s is not an internal error', async (id) => {
  expect(await annotate({ rollout: id })).toBeLessThan(500);
  expect((await fetch(`${open.url}/api/rollouts/${id}`)).status).toBeLessThan(500);
  expect((await fetch(`${open.url}/api/runs/${id}`)).status).toBeLessThan(500);
});
