import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Span, Store } from '@agentlightning/core';
import type { SpanSearch } from '@agentlightning/core/store';
import { aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

const longName = `ä🙂${'x'.repeat(120)}`;
/** Number of rollouts of a store, and those with different spans. */
interface Filling {
  readonly rollouts: number;
  readonly empty: number;
  readonly failed: number;
  readonly longer: number;
  readonly long: number;
}
// More than one call looks at.
const many: Filling = { rollouts: 1300, empty: 3, failed: 700, longer: 1200, long: 1299 };
const few: Filling = { rollouts: 30, empty: 3, failed: 7, longer: 12, long: 29 };

async function fill(store: Store, filling: Filling): Promise<void> {
  const { rollouts, empty, failed, longer, long } = filling;
  const names = new Map([
    [empty, ''],
    [failed, longName],
    [longer, `${longName}y`],
    [long, longName],
  ]);
  const ids = Array.from({ length: rollouts }, (_, index) => `ro-${String(index).padStart(4, '0')}`);
  await store.enqueueRollouts(ids.map((rolloutId) => ({ rolloutId, input: 1 })));
  const claimed = await store.claimRollouts({ limit: rollouts });
  const spans = claimed.map(({ rolloutId, attempt: { attemptId } }, index) => {
    const status = { code: index === failed ? 'ERROR' : 'OK', message: 'said: "code":"ERROR"' } as const;
    return aSpan({ rolloutId, attemptId, spanId: `span-${index}`, name: names.get(index) ?? 'step', status });
  });
  for (let from = 0; from < spans.length; from += 500) await store.appendSpans(spans.slice(from, from + 500));
}

/** Every search finds what it should in one call, however far apart it is. */
async function assertFound(store: Store, { empty, failed, longer, long }: Filling): Promise<void> {
  const searches: readonly [SpanSearch, readonly number[]][] = [
    [{ name: longName }, [failed, long]],
    [{ name: longName, sortOrder: 'desc' }, [long, failed]],
    [{ name: `${longName}y` }, [longer]],
    [{ name: '' }, [empty]],
    [{ name: 'nothing' }, []],
    [{ statusIn: ['ERROR'] }, [failed]],
    [{ name: longName, statusIn: ['ERROR'] }, [failed]],
    [{ name: '', rolloutIdIn: ['ro-0003', 'ro-0001'] }, [empty]],
  ];
  for (const [search, numbers] of searches) {
    const { items, nextCursor } = await store.searchSpans(search);
    const found = items.map(({ rolloutId }) => Number(rolloutId.slice(3)));
    expect({ search, found, nextCursor }).toEqual({ search, found: numbers, nextCursor: null });
  }
}

test('a search by name or by failure finds rare spans among many rollouts in one request', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'agl.db');
  const store = await openStore(path);
  await fill(store, many);
  await assertFound(store, many);
  const finished = ['ro-0003', 'ro-0700', 'ro-0001'];
  for (const rolloutId of finished) await store.updateRollout(rolloutId, { status: 'cancelled' });
  expect(await store.deleteRollouts(finished)).toMatchObject({ spans: 3 });
  expect((await store.searchSpans({ statusIn: ['ERROR'] })).items).toEqual([]);
  await store.close();
  expect(count(path, 'SELECT count(*) AS count FROM span_marks')).toBe(many.rollouts - finished.length);
});

test('a name with a NUL character is not found by its prefix', async () => {
  const store = await openStore(':memory:');
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  await store.appendSpans([aSpan({ rolloutId, attemptId: attempt.attemptId, name: 'a\0b' })]);
  expect((await store.searchSpans({ name: 'a\0b' })).items).toHaveLength(1);
  expect((await store.searchSpans({ name: 'a' })).items).toEqual([]);
  await store.close();
});

test('a rollout whose spans arrive one by one is found by every name and by failures, also after similar ones', async () => {
  const store = await openStore(':memory:');
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const { attemptId } = attempt;
  const isFound = async (search: SpanSearch): Promise<boolean> => (await store.searchSpans(search)).items.length > 0;
  const append = (name: string, code: 'OK' | 'ERROR', spanId: string): Promise<readonly (Span | null)[]> => {
    const { sequenceId: _own, ...span } = aSpan({
      rolloutId,
      attemptId,
      spanId,
      name,
      status: { code, message: null },
    });
    return store.appendSpans([span]);
  };
  for (const [spanId, name] of ['call', 'call', 'tool', 'call', longName, `${longName}y`].entries()) {
    expect(await append(name, 'OK', `${spanId}`)).toMatchObject([{ name, sequenceId: spanId + 1 }]);
    expect(await isFound({ name })).toBe(true);
  }
  expect(await isFound({ statusIn: ['ERROR'] })).toBe(false);
  expect(await append('call', 'ERROR', 'failed')).toMatchObject([{ sequenceId: 7 }]);
  expect(await isFound({ statusIn: ['ERROR'] })).toBe(true);
  expect(await append('never', 'OK', 'failed')).toEqual([null]);
  expect(await isFound({ name: 'never' })).toBe(false);
  // Another rollout may take the place of one that is deleted, and has no marks of it.
  await store.updateRollout(rolloutId, { status: 'cancelled' });
  await store.deleteRollouts([rolloutId]);
  const next = await store.startRollout({ input: 2 });
  const ofNext = { rolloutId: next.rolloutId, attemptId: next.attempt.attemptId };
  await store.appendSpans([aSpan({ ...ofNext, name: 'tool' })]);
  expect((await store.searchSpans({ name: 'tool' })).items).toMatchObject([ofNext]);
  expect(await isFound({ name: 'call' })).toBe(false);
  await store.close();
});

describePostgres('PostgreSQL', () => {
  test('a search by name or by failure finds rare spans among many rollouts in one request', async () => {
    await using database = await createTestDatabase();
    const store = await openStore(database.url);
    await fill(store, few);
    await assertFound(store, few);
    await store.updateRollout('ro-0007', { status: 'cancelled' });
    await store.deleteRollouts(['ro-0007']);
    const marks = await database.execute("SELECT count(*)::int AS count FROM span_marks WHERE mark = 'e'");
    expect(marks).toEqual([{ count: 0 }]);
    await store.close();
  });
});

function count(path: string, sql: string): unknown {
  const database = new DatabaseSync(path);
  const row = database.prepare(sql).get();
  database.close();
  return row?.['count'];
}
