import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CollectOptions, cancelUnfinished, collectRollouts } from './collect-rollouts.ts';

let store: SqlStore;
beforeEach(async () => {
  store = await openStore(':memory:');
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
});
afterEach(() => store.close());

/** A store that calls back after each query of rollouts. */
function whileListed(meanwhile: () => Promise<unknown>): SqlStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'queryRollouts') {
        return async (query: Parameters<SqlStore['queryRollouts']>[0]) => {
          const page = await target.queryRollouts(query);
          await meanwhile();
          return page;
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

test('keeps rollouts that a remote runner ends concurrently, and cancels the others', async () => {
  const requests = ['ro-1', 'ro-2', 'ro-3', 'ro-4'].map((rolloutId) => ({ rolloutId, runId: 'run-1', input: null }));
  await store.enqueueRollouts(requests);
  await store.claimRollouts({ workerId: 'elsewhere', limit: 3 });
  const ending = whileListed(() => store.updateAttempt('ro-1', 'latest', { status: 'succeeded' }));
  expect(await cancelUnfinished(ending, { runId: 'run-1' })).toBe(3);
  const { items } = await store.queryRollouts({ runId: 'run-1' });
  expect(items.map(({ status }) => status)).toEqual(['succeeded', 'cancelled', 'cancelled', 'cancelled']);
});

const request = (rolloutId: string) => ({ rolloutId, runId: 'run-1', input: null });
const options = (): CollectOptions => ({
  store,
  onProgress: () => undefined,
  signal: new AbortController().signal,
  assertHealthy: async () => undefined,
  scoring: null,
  warn: () => undefined,
});

/** Ends the next rollout of the queue. */
async function endNext(origin: 'agent' | 'infrastructure' | null): Promise<void> {
  const [claimed] = await store.claimRollouts({ workerId: 'runner', waitMs: 10_000 });
  if (claimed === undefined) return expect.unreachable();
  const { rolloutId, attempt } = claimed;
  const metadata = { error: { code: 'AGENT_FAILED', message: 'it failed', origin } };
  const patch = origin === null ? { status: 'succeeded' as const } : { status: 'failed' as const, metadata };
  await store.updateAttempt(rolloutId, attempt.attemptId, patch);
}

test('retries a rollout that failed by infrastructure after a health check, at most three times', async () => {
  let checks = 0;
  const assertHealthy = async (): Promise<void> => {
    checks += 1;
  };
  const collecting = collectRollouts([request('lost'), request('fine')], { ...options(), assertHealthy });
  for (const origin of ['infrastructure', null, 'infrastructure', 'infrastructure', 'infrastructure'] as const) {
    await endNext(origin);
  }
  const [lost, fine] = await collecting;
  expect([lost?.failure, fine?.failure]).toEqual(['infrastructure', null]);
  expect(checks).toBe(3);
  expect((await store.queryAttempts('lost')).total).toBe(4);
});

test('does not retry a rollout whose agent failed, not even in a resumed run', async () => {
  const requests = [request('bad'), request('good')];
  const first = collectRollouts(requests, options());
  await endNext('agent');
  await endNext(null);
  expect((await first).map(({ failure }) => failure)).toEqual(['agent', null]);
  expect((await collectRollouts(requests, options())).map(({ failure }) => failure)).toEqual(['agent', null]);
  expect((await store.queryAttempts('bad')).total).toBe(1);
});

test('retries all rollouts in a resumed run when the agents of all failed', async () => {
  const first = collectRollouts([request('bad')], options());
  await endNext('agent');
  await first;
  const second = collectRollouts([request('bad')], options());
  await endNext(null);
  expect((await second).map(({ failure }) => failure)).toEqual([null]);
});
