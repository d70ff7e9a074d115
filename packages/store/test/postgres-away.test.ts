import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openStore, type SqlStore } from '../src/index.ts';
import { type PostgresServer, startPostgres } from '../src/testing/index.ts';
import { runFixture } from './fixtures/run-fixture.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

// A separate server: these tests stop and kill it.
describePostgres('when the database goes away', () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres({ path: process.env.PATH ?? '' });
  });
  beforeEach(async () => {
    url = await server.createDatabase();
  });
  afterAll(() => server.close());

  test('requests during an outage complete when the database is back', async () => {
    await using store = disposable(await openStore(url, { unreachableAfterMs: 20_000 }));
    const [before] = await store.enqueueRollouts([{ input: 'before' }]);
    await server.stop();
    const writing = store.enqueueRollouts([{ input: 'meanwhile' }]);
    const reading = store.getRollout(before?.rolloutId ?? '');
    await server.start();
    expect(await reading).toEqual(before);
    expect(await writing).toMatchObject([{ input: 'meanwhile' }]);
    expect((await store.queryRollouts()).items.map(({ input }) => input)).toEqual(['before', 'meanwhile']);
  });

  test('fails with UNREACHABLE during an outage and recovers automatically', async () => {
    await using store = disposable(await openStore(url, { unreachableAfterMs: 1000 }));
    await server.stop();
    const failure = await store.enqueueRollouts([{ input: 1 }]).catch((error: unknown) => error);
    await server.start();
    expect(failure).toMatchObject({ code: 'UNREACHABLE', remedy: expect.stringContaining('Start the database') });
    expect(await store.enqueueRollouts([{ input: 2 }])).toHaveLength(1);
    expect((await store.queryRollouts()).items.map(({ input }) => input)).toEqual([2]);
  });

  test('waits for claims and for the end of rollouts continue and are woken', async () => {
    await using runner = disposable(await openStore(url));
    await using trainer = disposable(await openStore(url));
    const [first] = await trainer.enqueueRollouts([{ input: 1 }]);
    await runner.claimRollouts();
    const end = trainer.waitForRollouts([first?.rolloutId ?? '']);
    const work = runner.claimRollouts({ waitMs: 60_000 });
    await heardOfEachOther(runner, trainer);
    await server.kill();
    await server.start();
    await trainer.enqueueRollouts([{ input: 2 }]);
    expect(await work).toMatchObject([{ input: 2 }]);
    await runner.updateAttempt(first?.rolloutId ?? '', 'latest', { status: 'succeeded' });
    expect(await end).toMatchObject([{ status: 'succeeded' }]);
  });

  test('killed repeatedly under load, it loses no acknowledged write', async () => {
    const writer = runFixture('persistent-writer.ts', [url]);
    for (let kill = 1; kill <= 5; kill += 1) {
      await writer.said(kill * 60);
      await server.kill();
      await server.start();
    }
    await writer.said(6 * 60);
    expect(await writer.end()).toBe(0);
    await using store = disposable(await openStore(url));
    const { items } = await store.queryRollouts();
    const spans = new Set<string>();
    for (const { rolloutId } of items) {
      const recorded = await store.querySpans({ rolloutId });
      for (const { spanId } of recorded.items) spans.add(JSON.stringify([rolloutId, spanId]));
    }
    expect(writer.lines.length).toBeGreaterThanOrEqual(6 * 60);
    expect(writer.lines.filter((line) => !spans.has(line))).toEqual([]);
  }, 60_000);
});

/** Resolves when each of two stores has received a change from the other: both listen. */
async function heardOfEachOther(one: SqlStore, other: SqlStore): Promise<void> {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    await new Promise<void>((resolve) => {
      const unsubscribe = to.subscribe((changes) => {
        if (!changes.some(({ kind }) => kind === 'resources' || kind === 'unknown')) return;
        unsubscribe();
        resolve();
      });
      void from.addResources({});
    });
  }
}

function disposable(store: SqlStore): SqlStore & AsyncDisposable {
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
