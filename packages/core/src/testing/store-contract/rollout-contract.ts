import { describe, expect } from 'vitest';
import type { RolloutQuery } from '../../store/queries.ts';
import type { Store } from '../../store/store.ts';
import { claimOne, enqueueOne, type StoreTest } from './store-test.ts';

/** Queries and changes of rollouts and their attempts. */
export function describeRollouts(test: StoreTest): void {
  describe('rollouts', () => {
    test('writes the fields of a patch, including null, and no others', async ({ store }) => {
      const { rolloutId } = await enqueueOne(store, { input: 1, mode: 'train', metadata: { a: 1 } });
      const changed = await store.updateRollout(rolloutId, { mode: null, input: { b: 2 } });
      expect(changed).toMatchObject({ mode: null, input: { b: 2 }, metadata: { a: 1 }, status: 'queuing' });
      const config = { timeoutMs: 5000, unresponsiveMs: null, maxAttempts: 2, retryCondition: ['failed'] as const };
      expect(await store.updateRollout(rolloutId, { config, metadata: null })).toMatchObject({
        config,
        metadata: null,
      });
      expect(await store.getRollout(rolloutId)).toMatchObject({ config, input: { b: 2 }, metadata: null });
    });

    test('rejects unknown resources', async ({ store }) => {
      const { rolloutId } = await enqueueOne(store);
      const update = store.updateRollout(rolloutId, { resourcesId: 'rs-unknown' });
      await expect(update).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    test('lists every rollout with its latest attempt, in creation order', async ({ store }) => {
      const claimed = await claimOne(store);
      const queued = await enqueueOne(store);
      const page = await store.queryRollouts();
      expect(page).toEqual({ items: [claimed, queued], limit: -1, offset: 0, total: 2 });
    });

    test('applies filters', async ({ store }) => {
      await enqueueFour(store);
      const cases: [RolloutQuery, string[]][] = [
        [{ statusIn: ['cancelled'] }, ['ro-b']],
        [{ statusIn: [] }, []],
        [{ rolloutIdIn: ['ro-c', 'ro-a', 'ro-unknown'] }, ['ro-a', 'ro-c']],
        [{ rolloutIdIn: [] }, []],
        [{ rolloutIdContains: 'o-d' }, ['ro-d']],
        [{ rolloutIdContains: '%' }, []],
        [{ modeIn: ['val', 'test'] }, ['ro-b', 'ro-c']],
        [{ runId: 'run-1' }, ['ro-a', 'ro-b']],
        [{ statusIn: ['cancelled'], rolloutIdIn: ['ro-a'], filterLogic: 'or' }, ['ro-a', 'ro-b']],
        [{ statusIn: ['cancelled'], rolloutIdIn: ['ro-a'], filterLogic: 'and' }, []],
        [{ statusIn: ['queuing'], rolloutIdIn: ['ro-b'], filterLogic: 'or', runId: 'run-1' }, ['ro-a', 'ro-b']],
      ];
      for (const [query, ids] of cases) {
        const { items, total } = await store.queryRollouts(query);
        expect({ query, ids: items.map((rollout) => rollout.rolloutId) }).toEqual({ query, ids });
        expect(total).toBe(ids.length);
      }
    });

    test('filters by start and end time, inclusive from and exclusive before', async ({ store, clock }) => {
      const startMs = clock.now();
      for (const rolloutId of ['ro-a', 'ro-b', 'ro-c']) {
        await enqueueOne(store, { rolloutId });
        await clock.advance(1000);
      }
      await store.updateRollout('ro-b', { status: 'cancelled' });
      await clock.advance(1000);
      await store.updateRollout('ro-a', { status: 'cancelled' });
      const cases: [RolloutQuery, string[]][] = [
        [{ startTimeFromMs: startMs + 1000 }, ['ro-b', 'ro-c']],
        [{ startTimeBeforeMs: startMs + 1000 }, ['ro-a']],
        [{ startTimeFromMs: startMs + 1000, startTimeBeforeMs: startMs + 1000 }, []],
        [{ endTimeFromMs: startMs + 4000 }, ['ro-a']],
        [{ endTimeBeforeMs: startMs + 4000 }, ['ro-b']],
        [{ endTimeFromMs: startMs, statusIn: ['queuing'], filterLogic: 'or' }, []],
      ];
      for (const [query, ids] of cases) {
        const { items, total } = await store.queryRollouts(query);
        expect({ query, ids: items.map((rollout) => rollout.rolloutId) }).toEqual({ query, ids });
        expect(total).toBe(ids.length);
      }
    });

    test('filters by metadata fields', async ({ store }) => {
      const values = [1, '1', true, null, 'a"b', { x: 1 }, [1, 2], 0.5];
      await store.enqueueRollouts(
        values.map((value) => ({ input: value, metadata: { 'odd "key".$': value, step: 1 } })),
      );
      for (const value of values) {
        const { items } = await store.queryRollouts({ metadata: { 'odd "key".$': value, step: 1 } });
        expect(items.map((rollout) => rollout.input)).toEqual([value]);
      }
      expect(await store.queryRollouts({ metadata: { missing: 1 } })).toMatchObject({ items: [] });
    });

    test('sorts and paginates lists', async ({ store }) => {
      await enqueueFour(store);
      const cases: [RolloutQuery, string[]][] = [
        [{ sortBy: 'rolloutId', sortOrder: 'desc' }, ['ro-d', 'ro-c', 'ro-b', 'ro-a']],
        [{ sortBy: 'endTimeMs' }, ['ro-a', 'ro-c', 'ro-d', 'ro-b']],
        [{ sortBy: 'endTimeMs', sortOrder: 'desc' }, ['ro-b', 'ro-d', 'ro-c', 'ro-a']],
        [{ sortBy: 'mode' }, ['ro-d', 'ro-c', 'ro-a', 'ro-b']],
        [{ sortBy: 'rolloutId', limit: 2 }, ['ro-a', 'ro-b']],
        [{ sortBy: 'rolloutId', limit: 2, offset: 3 }, ['ro-d']],
        [{ offset: 9 }, []],
      ];
      for (const [query, ids] of cases) {
        const { items, total } = await store.queryRollouts(query);
        expect({ query, ids: items.map((rollout) => rollout.rolloutId) }).toEqual({ query, ids });
        expect(total).toBe(4);
      }
    });

    test('rejects invalid limits, offsets and sort fields', async ({ store }) => {
      const bad = [
        { limit: 0 },
        { limit: -2 },
        { offset: -1 },
        { sortBy: 'input; DROP TABLE rollouts' },
        { sortBy: 'toString' },
      ];
      for (const query of bad) {
        // Invalid by type, but possible over HTTP.
        await expect(store.queryRollouts(query as RolloutQuery)).rejects.toMatchObject({ code: 'VALIDATION' });
      }
    });
  });

  describe('attempts', () => {
    test('are listed in order and available as latest', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const second = (await store.startAttempt(rolloutId)).attempt;
      const { items, total } = await store.queryAttempts(rolloutId, { sortOrder: 'desc', limit: 1 });
      expect({ items, total }).toEqual({ items: [second], total: 2 });
      const ids = (await store.queryAttempts(rolloutId)).items.map((item) => item.attemptId);
      expect(ids).toEqual([attempt.attemptId, second.attemptId]);
      expect(await store.getLatestAttempt(rolloutId)).toEqual(second);
    });

    test('do not exist before the first claim', async ({ store }) => {
      const { rolloutId } = await enqueueOne(store);
      expect(await store.getLatestAttempt(rolloutId)).toBeNull();
      expect(await store.queryAttempts(rolloutId)).toEqual({ items: [], limit: -1, offset: 0, total: 0 });
    });

    test('write the fields of a patch, by id or latest', async ({ store, clock }) => {
      const { rolloutId, attempt } = await claimOne(store);
      await clock.advance(10);
      const patch = { workerId: 'worker-9', lastHeartbeatTimeMs: clock.now(), metadata: { note: 'x' } };
      const changed = await store.updateAttempt(rolloutId, attempt.attemptId, patch);
      expect(changed).toEqual({ ...attempt, ...patch });
      expect(await store.updateAttempt(rolloutId, 'latest', {})).toEqual(changed);
    });
  });

  describe('statistics', () => {
    test('count all records', async ({ store }) => {
      await claimOne(store, {}, 'worker-1');
      await enqueueOne(store);
      await store.addResources({});
      expect(await store.statistics()).toMatchObject({
        totalRollouts: 2,
        totalAttempts: 1,
        totalSpans: 0,
        totalResources: 1,
        totalWorkers: 1,
      });
    });
  });
}

async function enqueueFour(store: Store): Promise<void> {
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
  await store.enqueueRollouts([
    { rolloutId: 'ro-a', input: 1, mode: 'train', runId: 'run-1' },
    { rolloutId: 'ro-b', input: 2, mode: 'val', runId: 'run-1' },
    { rolloutId: 'ro-c', input: 3, mode: 'test' },
    { rolloutId: 'ro-d', input: 4 },
  ]);
  await store.updateRollout('ro-b', { status: 'cancelled' });
}
