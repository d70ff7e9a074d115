import { describe, expect } from 'vitest';
import type { Span } from '../../spans/span.ts';
import type { SpanSearch } from '../../store/span-search.ts';
import type { Store } from '../../store/store.ts';
import { aSpan } from '../a-span.ts';
import { claimOne, type StoreTest } from './store-test.ts';

/** Span search across rollouts. */
export function describeSearch(test: StoreTest): void {
  describe('span search', () => {
    test('applies all filters, in the order of rollouts and spans', async ({ store }) => {
      await recordThree(store);
      const cases: [SpanSearch, string[]][] = [
        [{}, ['a1', 'a2', 'b1', 'b2', 'c1']],
        [{ sortOrder: 'desc' }, ['c1', 'b2', 'b1', 'a2', 'a1']],
        [{ runId: 'run-1' }, ['a1', 'a2', 'b1', 'b2']],
        [{ rolloutIdIn: ['ro-c', 'ro-a', 'ro-unknown'] }, ['a1', 'a2', 'c1']],
        [{ rolloutIdIn: [] }, []],
        [{ name: 'tool' }, ['a2', 'c1']],
        [{ nameContains: 'oo' }, ['a2', 'c1']],
        [{ nameContains: '%' }, []],
        [{ attributes: { kind: 'x' } }, ['a1', 'b1']],
        [{ attributes: { kind: 'x', 'odd "key".$': 2 } }, ['b1']],
        [{ attributes: { kind: '1' } }, []],
        [{ attributes: { kind: 1 } }, ['a2']],
        [{ attributes: { kind: true } }, ['b2']],
        [{ attributes: { kind: ['x', 'y'] } }, ['c1']],
        [{ statusIn: ['ERROR'] }, ['b2']],
        [{ statusIn: ['ERROR', 'UNSET'] }, ['a2', 'b2']],
        [{ statusIn: [] }, []],
        [{ startTimeFromMs: 2000, startTimeBeforeMs: 4000 }, ['a2', 'b1']],
        [{ runId: 'run-1', name: 'step', statusIn: ['OK'], sortOrder: 'desc' }, ['b1', 'a1']],
      ];
      for (const [search, spanIds] of cases) {
        const page = await store.searchSpans(search);
        expect({ search, spanIds: idsOf(page.items), next: page.nextCursor }).toEqual({ search, spanIds, next: null });
      }
    });

    test('returns complete spans', async ({ store }) => {
      await recordThree(store);
      const [found] = (await store.searchSpans({ attributes: { kind: 1 } })).items;
      const { items } = await store.querySpans({ rolloutId: 'ro-a', spanId: 'a2' });
      expect(found).toEqual(items[0]);
    });

    for (const sortOrder of ['asc', 'desc'] as const) {
      test(`resumes at the cursor, ${sortOrder}, also during inserts`, async ({ store }) => {
        const expected = await recordMany(store);
        const found: string[] = [];
        let cursor: string | null = null;
        do {
          const page = await store.searchSpans({
            limit: 3,
            sortOrder,
            name: 'step',
            ...(cursor === null ? {} : { cursor }),
          });
          expect(page.items.length).toBeLessThanOrEqual(3);
          found.push(...idsOf(page.items));
          cursor = page.nextCursor;
          if (sortOrder === 'desc') await claimOne(store);
        } while (cursor !== null);
        expect(found).toEqual(sortOrder === 'asc' ? expected : expected.toReversed());
      });
    }

    test('resumes between spans with the same sequence id', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const spans = ['s1', 's2', 's3'].map((spanId) =>
        aSpan({ rolloutId, attemptId: attempt.attemptId, spanId, sequenceId: 7 }),
      );
      await store.appendSpans(spans);
      const first = await store.searchSpans({ limit: 2 });
      const second = await store.searchSpans({ limit: 2, cursor: first.nextCursor ?? '' });
      expect([idsOf(first.items), idsOf(second.items)]).toEqual([['s1', 's2'], ['s3']]);
    });

    test('rejects invalid limits and cursors, and unknown runs', async ({ store }) => {
      for (const search of [{ limit: 0 }, { limit: 1001 }, { limit: 1.5 }, { cursor: 'nonsense' }, { cursor: '' }]) {
        await expect(store.searchSpans(search)).rejects.toMatchObject({ code: 'VALIDATION' });
      }
      await expect(store.searchSpans({ runId: 'run-unknown' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}

async function recordThree(store: Store): Promise<void> {
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
  const runs = { 'ro-a': 'run-1', 'ro-b': 'run-1', 'ro-c': null };
  const attempts = new Map<string, string>();
  for (const [rolloutId, runId] of Object.entries(runs)) {
    const claimed = await claimOne(store, { rolloutId, runId });
    attempts.set(rolloutId, claimed.attempt.attemptId);
  }
  const span = (spanId: string, fields: Partial<Span>): Omit<Span, 'sequenceId'> => {
    const rolloutId = `ro-${spanId[0]}`;
    const { sequenceId: _given, ...rest } = aSpan({
      rolloutId,
      attemptId: attempts.get(rolloutId) ?? '',
      spanId,
      ...fields,
    });
    return rest;
  };
  await store.appendSpans([
    span('a1', { attributes: { kind: 'x' }, startTimeMs: 1000 }),
    span('a2', { name: 'tool', attributes: { kind: 1 }, startTimeMs: 2000, status: { code: 'UNSET', message: null } }),
    span('b1', { attributes: { kind: 'x', 'odd "key".$': 2 }, startTimeMs: 3000 }),
    span('b2', { attributes: { kind: true }, startTimeMs: 4000, status: { code: 'ERROR', message: 'no' } }),
    span('c1', { name: 'tool', attributes: { kind: ['x', 'y'] }, startTimeMs: null }),
  ]);
}

/** Rollouts with 0, 1, 2, … spans, every other span a step. */
async function recordMany(store: Store): Promise<readonly string[]> {
  const steps: string[] = [];
  for (let index = 0; index < 6; index += 1) {
    const { rolloutId, attempt } = await claimOne(store);
    const spans = Array.from({ length: index }, (_, place) =>
      aSpan({
        rolloutId,
        attemptId: attempt.attemptId,
        spanId: `${index}-${place}`,
        sequenceId: place + 1,
        name: place % 2 === 0 ? 'step' : 'other',
      }),
    );
    await store.appendSpans(spans);
    steps.push(...spans.filter((span) => span.name === 'step').map((span) => span.spanId));
  }
  return steps;
}

function idsOf(spans: readonly Span[]): string[] {
  return spans.map((span) => span.spanId);
}
