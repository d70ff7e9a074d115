import { randomBytes } from 'node:crypto';
import type { Rollout } from '@agentlightning/core';
import { aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { openProjectStores, type SqlStore } from '../src/index.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

const maxSizeBytes = 4_000_000;

/** A rollout of about 20 kB, which PostgreSQL cannot compress. */
function enqueue(store: SqlStore): Promise<readonly Rollout[]> {
  return store.enqueueRollouts([{ input: randomBytes(15_000).toString('base64') }]);
}

/** Enqueues rollouts until one fails; returns the ids of the acknowledged ones, and the error. */
async function fill(store: SqlStore): Promise<{ readonly acknowledged: readonly string[]; readonly error: unknown }> {
  const acknowledged: string[] = [];
  try {
    while (acknowledged.length < 1000) {
      for (const { rolloutId } of await enqueue(store)) acknowledged.push(rolloutId);
    }
  } catch (error) {
    return { acknowledged, error };
  }
  return { acknowledged, error: null };
}

describePostgres('the limit of the size of a project on PostgreSQL', () => {
  test('a full project refuses records, keeps those that it has, and does not stop another', async () => {
    await using database = await createTestDatabase();
    const projects = await openProjectStores(database.url, { maxSizeBytes });
    for (const project of ['red', 'blue']) {
      await projects.main.createAccessKey({ name: `team of ${project}`, role: 'trainer', project });
    }
    const [red, blue] = [await projects.store('red'), await projects.store('blue')];
    const [running] = await enqueue(red);
    const [claimed] = await red.claimRollouts({ workerId: 'worker-1' });
    const { acknowledged, error } = await fill(red);
    expect(error).toMatchObject({ code: 'STORE_FULL', remedy: expect.stringContaining('space') });
    // 4 MB, less the indexes, and what was written during the last measurement.
    expect(acknowledged.length).toBeGreaterThan(50);
    expect(acknowledged.length).toBeLessThan(400);
    expect((await red.queryRollouts()).items).toHaveLength(acknowledged.length + 1);
    const ids = { rolloutId: running?.rolloutId ?? '', attemptId: claimed?.attempt.attemptId ?? '' };
    await expect(red.appendSpans([aSpan(ids)])).rejects.toMatchObject({ code: 'STORE_FULL' });
    await expect(red.createRun({ runId: 'run-1', name: 'red', config: {} })).rejects.toMatchObject({
      code: 'STORE_FULL',
    });
    await expect(red.addResources({})).rejects.toMatchObject({ code: 'STORE_FULL' });
    // Runners keep what they have.
    await red.updateWorker('worker-1', { heartbeatStats: {} });

    await blue.createRun({ runId: 'run-1', name: 'blue', config: {} });
    await enqueue(blue);
    const [other] = await blue.claimRollouts({ workerId: 'worker-2' });
    const otherIds = { rolloutId: other?.rolloutId ?? '', attemptId: other?.attempt.attemptId ?? '' };
    await blue.appendSpans([aSpan(otherIds)]);
    await blue.updateAttempt(otherIds.rolloutId, otherIds.attemptId, { status: 'succeeded' });
    expect(await blue.getRollout(otherIds.rolloutId)).toMatchObject({ status: 'succeeded' });
    await projects.close();
  });

  test('deletions make room, though the files keep their size', async () => {
    await using database = await createTestDatabase();
    const projects = await openProjectStores(database.url, { maxSizeBytes });
    const { main } = projects;
    const { acknowledged, error } = await fill(main);
    expect(error).toMatchObject({ code: 'STORE_FULL' });
    const third = acknowledged.filter((_, index) => index % 3 > 0);
    for (const rolloutId of third) await main.updateRollout(rolloutId, { status: 'cancelled' });
    await expect(enqueue(main)).rejects.toMatchObject({ code: 'STORE_FULL' });
    await main.deleteRollouts(third);
    // Dead rows are no longer counted as such.
    await database.execute('VACUUM ANALYZE');
    const [size] = await database.execute("SELECT pg_total_relation_size('rollouts')::int AS bytes");
    expect(Number(size?.['bytes'])).toBeGreaterThan(maxSizeBytes * 0.9);
    const again = await fill(main);
    expect(again.error).toMatchObject({ code: 'STORE_FULL' });
    expect(again.acknowledged.length).toBeGreaterThan(third.length / 2);
    expect(again.acknowledged.length).toBeLessThan(third.length * 2);
    await projects.close();
  });
});
