import { aSpan } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore, type SqlStore } from '../src/index.ts';
import { createTestDatabase, type TestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

describePostgres('several stores on one PostgreSQL, at the same time', () => {
  let database: TestDatabase;
  let stores: readonly SqlStore[];
  beforeEach(async () => {
    database = await createTestDatabase();
    stores = await Promise.all([1, 2, 3].map(() => openStore(database.url, { poolSize: 5, watchdogIntervalMs: 50 })));
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await database[Symbol.asyncDispose]();
  });

  test('assign sequence ids without gaps, in any order of locks', async () => {
    const [first] = stores;
    const rollouts = await Promise.all([1, 2, 3].map(async (input) => first?.startRollout({ input })));
    const attempts = rollouts.flatMap((rollout) => (rollout === undefined ? [] : [rollout.attempt]));
    const batches = Array.from({ length: 60 }, async (_, index) => {
      // Every store begins with another rollout.
      const turned = attempts.map((_attempt, place) => attempts[(place + index) % attempts.length] ?? fail());
      const spans = turned.map(({ rolloutId, attemptId }) => {
        const { sequenceId: _sequenceId, ...span } = aSpan({ rolloutId, attemptId });
        return span;
      });
      return stores[index % stores.length]?.appendSpans(spans);
    });
    expect((await Promise.all(batches)).flat().filter((span) => span === null)).toEqual([]);
    for (const { rolloutId } of attempts) {
      const { items } = (await first?.querySpans({ rolloutId })) ?? fail();
      expect(items.map(({ sequenceId }) => sequenceId)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    }
  });

  test('retry transactions after deadlocks', async () => {
    const [store] = stores;
    const ids = await Promise.all(
      ['a', 'b'].map(async (input) => (await store?.startRollout({ input }))?.rolloutId ?? ''),
    );
    const together = Array.from({ length: 12 }, (_, index) => {
      const [one = '', other = ''] = index % 2 === 0 ? ids : ids.toReversed();
      const request = { key: `request-${index}`, requestHash: '' };
      // Two rollouts in one transaction, in the order of the caller.
      return stores[index % stores.length]?.once(request, async (transaction) => {
        await transaction.updateRollout(one, { metadata: { by: index } });
        await new Promise((resolve) => setImmediate(resolve));
        return transaction.updateRollout(other, { metadata: { by: index } });
      });
    });
    await Promise.all(together);
    const [one, other] = await Promise.all(ids.map((id) => store?.getRollout(id)));
    expect(one?.metadata).toEqual(other?.metadata);
  });

  test('claim each rollout of the queue once, in order', async () => {
    const [store] = stores;
    const enqueued = (await store?.enqueueRollouts(Array.from({ length: 90 }, (_, input) => ({ input })))) ?? fail();
    const claims = Array.from({ length: 30 }, (_, index) =>
      stores[index % stores.length]?.claimRollouts({ workerId: `worker-${index % 4}`, limit: 2 }),
    );
    const claimed = (await Promise.all(claims)).flatMap((some) => some ?? []);
    const expected = enqueued.slice(0, 60).map(({ rolloutId }) => rolloutId);
    expect(claimed.map(({ rolloutId }) => rolloutId).toSorted()).toEqual(expected.toSorted());
  });

  test('agree on whether a rollout was cancelled or claimed first', async () => {
    const [one, two] = stores;
    for (let round = 0; round < 20; round += 1) {
      const [rollout] = (await one?.enqueueRollouts([{ input: round }])) ?? [];
      const rolloutId = rollout?.rolloutId ?? fail();
      const [claimed] = await Promise.all([
        two?.claimRollouts(),
        one?.updateRollout(rolloutId, { status: 'cancelled' }),
      ]);
      const attempts = (await one?.queryAttempts(rolloutId))?.items ?? fail();
      expect(attempts.map(({ status }) => status)).toEqual(claimed?.length === 0 ? [] : ['failed']);
      expect(await one?.getRollout(rolloutId)).toMatchObject({ status: 'cancelled' });
    }
    expect(await two?.claimRollouts()).toEqual([]);
  });

  test('serve waiting workers when another worker died during its claim', async () => {
    const [one, two] = stores;
    const [rollout] = (await one?.enqueueRollouts([{ input: 1 }])) ?? [];
    // Locks the queue entry as a claim does, and releases it without a notification.
    await database.execute('BEGIN');
    await database.execute('SELECT position FROM queue FOR UPDATE');
    expect(await one?.claimRollouts()).toEqual([]);
    const waiting = two?.claimRollouts({ waitMs: 20_000 });
    expect(await one?.claimRollouts()).toEqual([]);
    await database.execute('ROLLBACK');
    expect(await waiting).toMatchObject([{ rolloutId: rollout?.rolloutId }]);
  });

  test('leave a worker idle whose last attempts end at the same time', async () => {
    const [store] = stores;
    for (let round = 0; round < 5; round += 1) {
      await store?.enqueueRollouts([{ input: 1 }, { input: 2 }]);
      const claimed = (await store?.claimRollouts({ workerId: 'worker-1', limit: 2 })) ?? fail();
      const ends = claimed.map(({ rolloutId }, index) =>
        stores[index]?.updateAttempt(rolloutId, 'latest', { status: 'succeeded' }),
      );
      await Promise.all(ends);
      expect(await store?.getWorker('worker-1')).toMatchObject({ status: 'idle', currentRolloutId: null });
    }
  });

  test('end an expired attempt once, with several watchdogs', async () => {
    const [store] = stores;
    const config = { timeoutMs: 1, maxAttempts: 2, retryCondition: ['timeout' as const] };
    const rollouts = (await store?.enqueueRollouts([1, 2, 3].map((input) => ({ input, config })))) ?? fail();
    const ids = rollouts.map(({ rolloutId }) => rolloutId);
    await store?.claimRollouts({ limit: 3 });
    // Every one of them has a watchdog; each rollout comes back to the queue once, and there is no third attempt.
    const again = await Promise.all(stores.map((one) => one.claimRollouts({ waitMs: 20_000 })));
    expect(
      again
        .flat()
        .map(({ rolloutId }) => rolloutId)
        .toSorted(),
    ).toEqual(ids.toSorted());
    await store?.waitForRollouts(ids);
    for (const id of ids) {
      expect((await store?.queryAttempts(id))?.items.map(({ status }) => status)).toEqual(['timeout', 'timeout']);
      expect(await store?.getRollout(id)).toMatchObject({ status: 'failed' });
    }
  });
});

function fail(): never {
  throw new Error('there is less than expected');
}
