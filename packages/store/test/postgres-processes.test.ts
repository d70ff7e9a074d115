// @module-tag long
import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';
import { type RunningFixture, runFixture } from './fixtures/run-fixture.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

describePostgres('many processes on one PostgreSQL', () => {
  test('claim each rollout once, and wake waits of other processes', async () => {
    await using database = await createTestDatabase();
    // Two trainers here; a server and three claimers, one of them behind it, in separate processes.
    const [first, second] = await Promise.all([openStore(database.url), openStore(database.url)]);
    const server = runFixture('store-server.ts', [database.url]);
    await server.said(1);
    const claimers = [
      runFixture('claimer.ts', [database.url, 'worker-1']),
      runFixture('claimer.ts', [database.url, 'worker-2']),
      runFixture('claimer.ts', [server.lines[0] ?? '', 'worker-3']),
    ];
    await Promise.all(claimers.map((claimer) => claimer.said(1)));
    const enqueued: string[] = [];
    const finished: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const batches = [first, second].map(async (store) => {
        const requests = Array.from({ length: 40 }, (_, input) => ({ input: { round, input } }));
        const ids = (await store.enqueueRollouts(requests)).map(({ rolloutId }) => rolloutId);
        enqueued.push(...ids);
        // Only the other processes finish them, and only their notifications end the wait.
        finished.push(...(await store.waitForRollouts(ids)).map(({ rolloutId }) => rolloutId));
      });
      await Promise.all(batches);
    }
    expect(await Promise.all(claimers.map((claimer) => claimer.end()))).toEqual([0, 0, 0]);

    const claimed = claimers.flatMap(claimedBy);
    expect(claimed.toSorted()).toEqual(enqueued.toSorted());
    expect(finished.toSorted()).toEqual(enqueued.toSorted());
    expect(claimers.filter((claimer) => claimedBy(claimer).length === 0)).toEqual([]);
    const numbers = await database.execute(
      'SELECT DISTINCT array_agg(sequence_id::int ORDER BY sequence_id) AS ids FROM spans GROUP BY rollout_id',
    );
    expect(numbers).toEqual([{ ids: [1, 2] }]);
    const attempts = await database.execute('SELECT count(*)::int AS count FROM attempts');
    expect(attempts).toEqual([{ count: enqueued.length }]);
    expect(await server.end()).toBe(0);
    await Promise.all([first.close(), second.close()]);
  }, 60_000);

  test('measure leases by the clock of the database, whatever their own clocks', async () => {
    await using database = await createTestDatabase();
    // Only the other process watches.
    const store = await openStore(database.url, { watchdogIntervalMs: 2 ** 30 });
    const server = runFixture('store-server-ahead.ts', [database.url]);
    await server.said(1);
    await store.enqueueRollouts([{ input: 'claimed for a minute' }]);
    const [claimed] = await store.claimRollouts();
    const overdue = await store.startRollout({ input: 'overdue', config: { timeoutMs: 1, maxAttempts: 1 } });
    await store.waitForRollouts([overdue.rolloutId], { timeoutMs: 30_000 });
    expect(await store.getRollout(overdue.rolloutId)).toMatchObject({ status: 'failed' });
    expect(await store.getRollout(claimed?.rolloutId ?? '')).toMatchObject({ status: 'preparing' });
    expect(await server.end()).toBe(0);
    await store.close();
  }, 60_000);
});

/** The ids of the rollouts that a process claimed: what it said after that it is ready. */
function claimedBy(claimer: RunningFixture): readonly string[] {
  return claimer.lines.slice(1);
}
