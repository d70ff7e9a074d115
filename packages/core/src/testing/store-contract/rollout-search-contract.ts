import { describe, expect } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import { findReview, type Judgement } from '../../spans/feedback.ts';
import { modelCallAttributes } from '../../spans/span-attributes.ts';
import type { RolloutSearch } from '../../store/rollout-search.ts';
import type { Store } from '../../store/store.ts';
import { aRewardSpan, aSpan } from '../a-span.ts';
import { claimOne, type StoreTest } from './store-test.ts';

/** Search of rollouts by text and reward. */
export function describeRolloutSearch(test: StoreTest): void {
  describe('rollout search', () => {
    test('applies all filters and orders', async ({ store }) => {
      await recordRollouts(store);
      const cases: [RolloutSearch, string[]][] = [
        [{}, ['d', 'c', 'b', 'a']],
        [{ sortOrder: 'asc', runId: 'run-1' }, ['a', 'b', 'c']],
        [{ sortBy: 'reward' }, ['b', 'c', 'a']],
        [{ sortBy: 'reward', sortOrder: 'asc' }, ['a', 'c', 'b']],
        [{ sortBy: 'reward', statusIn: ['succeeded'], runId: 'run-1' }, ['b', 'a']],
        [{ sortBy: 'reward', modeIn: ['val'] }, []],
        [{ minReward: 0.5 }, ['c', 'b']],
        [{ minReward: 0, maxReward: 0.5, runId: 'run-1' }, ['c', 'a']],
        [{ minReward: 0.5, metadata: { step: 2 } }, ['c']],
        [{ text: 'stock' }, ['c', 'b', 'a']],
        [{ text: 'STOCK u2' }, ['a']],
        [{ text: 'sto*' }, ['c', 'b', 'a']],
        [{ text: 'sto' }, []],
        [{ text: '“Wörter”, 日本' }, ['b']],
        [{ text: 'no such part' }, ['c']],
        [{ text: 'it\'s \'; DROP & (NOT) "x" OR a:b' }, []],
        [{ text: 'stock', runId: 'run-1', minReward: 0.1, sortBy: 'reward' }, ['b', 'c']],
        [{ text: 'stock', metadata: { step: 1 } }, ['b', 'a']],
        [{ text: 'stock', statusIn: ['failed'], rolloutIdContains: 'c' }, ['c']],
        [{ text: 'stock', rolloutIdIn: [] }, []],
      ];
      for (const [search, expected] of cases) {
        const { items, total, nextCursor, unindexed } = await store.searchRollouts(search);
        const ids = items.map(({ rollout }) => rollout.rolloutId);
        expect({ search, ids, total, nextCursor, unindexed }).toEqual({
          search,
          ids: expected,
          total: expected.length,
          nextCursor: null,
          unindexed: 0,
        });
      }
    });

    test('returns rollouts with their latest attempts and rewards', async ({ store }) => {
      await recordRollouts(store);
      const { items } = await store.searchRollouts({ sortOrder: 'asc' });
      expect(items.map(({ reward }) => reward)).toEqual([0, 1, 0.5, null]);
      const listed = (await store.queryRollouts()).items;
      expect(items.map(({ rollout }) => rollout)).toEqual(listed);
    });

    test('the reward is the last one of the latest attempt', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store, { rolloutId: 'a' });
      const rewardOf = async () => (await store.searchRollouts()).items[0]?.reward;
      await store.appendSpans([aRewardSpan(0.25, { rolloutId, attemptId: attempt.attemptId, spanId: 's1' })]);
      await store.appendSpans([aRewardSpan(0.75, { rolloutId, attemptId: attempt.attemptId, spanId: 's2' })]);
      expect(await rewardOf()).toBe(0.75);
      const second = await store.startAttempt(rolloutId);
      expect(await rewardOf()).toBeNull();
      await store.appendSpans([aRewardSpan(0.5, { rolloutId, attemptId: attempt.attemptId, spanId: 's3' })]);
      expect(await rewardOf()).toBeNull();
      await store.appendSpans([aRewardSpan(1, { rolloutId, attemptId: second.attempt.attemptId, spanId: 's4' })]);
      expect(await rewardOf()).toBe(1);
    });

    test('filters by the last label of the latest attempt', async ({ store }) => {
      await recordRollouts(store);
      const found = async (label: RolloutSearch['label'] & string) =>
        (await store.searchRollouts({ label, sortOrder: 'asc' })).items.map((each) => [
          each.rollout.rolloutId,
          each.label,
        ]);
      const annotate = (rolloutId: string, judgement: Judgement) =>
        store.recordFeedback({ rolloutId, source: 'reviewer', ...judgement });
      await annotate('a', { label: 'good', comment: 'concise' });
      await annotate('b', { label: 'good' });
      await annotate('b', { label: 'bad', preferredOver: 'a' });
      await annotate('c', { label: 'bad' });
      await annotate('c', { label: 'none' });
      expect(await found('any')).toEqual([
        ['a', 'good'],
        ['b', 'bad'],
      ]);
      expect(await found('good')).toEqual([['a', 'good']]);
      expect((await found('none')).map(([id]) => id)).toEqual(['c', 'd']);
      expect((await store.searchRollouts({ text: 'concise' })).items[0]?.rollout.rolloutId).toBe('a');
      const { items } = await store.querySpans({ rolloutId: 'b' });
      expect(findReview(items)).toEqual({ label: 'bad', comment: '', correction: '', preferredOver: ['a'] });
      // An annotation is not a reward, and does not reopen the rollout.
      expect((await store.searchRollouts({ label: 'good' })).items[0]).toMatchObject({
        rollout: { status: 'succeeded' },
        reward: 0,
      });
    });

    for (const sortBy of ['creation', 'reward'] as const) {
      for (const sortOrder of ['asc', 'desc'] as const) {
        test(`resumes at the cursor by ${sortBy}, ${sortOrder}, also during inserts`, async ({ store }) => {
          const expected = await recordMany(store, { sortBy, sortOrder });
          const found: string[] = [];
          let search: RolloutSearch | null = { sortBy, sortOrder, limit: 2, text: 'alike' };
          while (search !== null) {
            const page = await store.searchRollouts(search);
            expect(page.items.length).toBeGreaterThan(0);
            expect(page.total).toBe(expected.length);
            found.push(...page.items.map(({ rollout }) => rollout.rolloutId));
            search = page.nextCursor === null ? null : { ...search, cursor: page.nextCursor };
            if (sortOrder === 'desc' && sortBy === 'creation') await finishOne(store, { input: 'alike', reward: 0.5 });
          }
          expect(found).toEqual(expected);
        });
      }
    }

    test('finds the text of finished rollouts only, and text that arrives late', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store, { input: 'early' });
      const ids = { rolloutId, attemptId: attempt.attemptId };
      const countOf = async (text: string) => (await store.searchRollouts({ text })).total;
      await store.appendSpans([aSpan({ ...ids, spanId: 's1', attributes: { answer: 'regular' } })]);
      expect(await countOf('early')).toBe(0);
      await store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
      expect([await countOf('early'), await countOf('regular'), await countOf('delayed')]).toEqual([1, 1, 0]);
      await store.appendSpans([aSpan({ ...ids, spanId: 's2', attributes: { answer: 'delayed' } })]);
      expect([await countOf('early'), await countOf('regular'), await countOf('delayed')]).toEqual([1, 1, 1]);
      await store.deleteRollouts([rolloutId]);
      expect(await countOf('regular')).toBe(0);
    });

    test('finds the text of imported rollouts', async ({ store }) => {
      await recordRollouts(store);
      const chunks: Uint8Array[] = [];
      for await (const chunk of store.exportRun('run-1')) chunks.push(chunk);
      await store.deleteRun('run-1', { force: true });
      expect((await store.searchRollouts({ text: 'stock' })).total).toBe(0);
      await store.importRun(asStream(chunks));
      const { items } = await store.searchRollouts({ text: 'stock', sortBy: 'reward' });
      expect(items.map(({ rollout }) => rollout.rolloutId)).toEqual(['b', 'c', 'a']);
    });

    test('rejects invalid searches', async ({ store }) => {
      for (const search of [
        { limit: 0 },
        { limit: 1001 },
        { cursor: 'nonsense' },
        { cursor: btoa('[1,2]') },
        { text: ' …* ' },
        { text: 'word '.repeat(33) },
      ]) {
        await expect(store.searchRollouts(search)).rejects.toMatchObject({ code: 'VALIDATION' });
      }
      await expect(store.searchRollouts({ runId: 'run-unknown' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}

async function* asStream(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** Four rollouts: `a` to `c` of a run, finished with rewards; `d` running. */
async function recordRollouts(store: Store): Promise<void> {
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
  const request = {
    [modelCallAttributes.requestBody]: JSON.stringify({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'How many in stock?' }] }],
    }),
    'gen_ai.tool.call.arguments': '{"part":"U2"}',
    prompt_token_ids: [1, 2, 3],
  };
  await finishOne(store, { rolloutId: 'a', input: { question: 'stock of U2?' }, step: 1, reward: 0 });
  await finishOne(store, {
    rolloutId: 'b',
    input: 'Wörter: 日本語',
    step: 1,
    reward: 1,
    attributes: { ...request, 'gen_ai.tool.call.arguments': '{"part":"U3"}' },
  });
  await finishOne(store, {
    rolloutId: 'c',
    input: ['STOCK', 3],
    step: 2,
    reward: 0.5,
    error: 'no such part: U9',
  });
  await claimOne(store, { rolloutId: 'd', input: 'stock' });
}

interface Finished {
  readonly rolloutId?: string;
  readonly input: JsonValue;
  readonly step?: number;
  readonly reward: number;
  readonly attributes?: Readonly<Record<string, string | readonly number[]>>;
  readonly error?: string;
}

async function finishOne(
  store: Store,
  { rolloutId, input, step, reward, attributes, error }: Finished,
): Promise<string> {
  const claimed = await claimOne(store, {
    input,
    mode: 'train',
    ...(rolloutId === undefined ? {} : { rolloutId }),
    ...(step === undefined ? {} : { runId: 'run-1', metadata: { step } }),
  });
  const ids = { rolloutId: claimed.rolloutId, attemptId: claimed.attempt.attemptId };
  await store.appendSpans([
    aSpan({
      ...ids,
      spanId: 'call',
      attributes: attributes ?? {},
      status: error === undefined ? { code: 'OK', message: null } : { code: 'ERROR', message: error },
    }),
    aRewardSpan(reward, { ...ids, spanId: 'reward' }),
  ]);
  await store.updateAttempt(ids.rolloutId, ids.attemptId, { status: error === undefined ? 'succeeded' : 'failed' });
  return ids.rolloutId;
}

/** Rollouts with equal rewards, and one without the searched text. */
async function recordMany(
  store: Store,
  { sortBy, sortOrder }: { readonly sortBy: 'creation' | 'reward'; readonly sortOrder: 'asc' | 'desc' },
): Promise<readonly string[]> {
  const all: { readonly rolloutId: string; readonly reward: number }[] = [];
  for (const reward of [0.5, 0, 1, 0.5, 0.5, 0, 0.5]) {
    all.push({ rolloutId: await finishOne(store, { input: `all alike ${all.length}`, reward }), reward });
  }
  await finishOne(store, { input: 'different', reward: 0.5 });
  const order = sortBy === 'creation' ? all : all.toSorted((one, other) => one.reward - other.reward);
  const ids = order.map(({ rolloutId }) => rolloutId);
  return sortOrder === 'asc' ? ids : ids.toReversed();
}
