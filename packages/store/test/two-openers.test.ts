import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('two processes with one file share the queue: every rollout is claimed by one of them', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const [first, second] = [await openStore(file), await openStore(file)];
  const enqueue = [first, second].map(async (store) => {
    for (let input = 0; input < 50; input += 1) await store.enqueueRollouts([{ input }]);
  });
  await Promise.all(enqueue);
  const claims = await Promise.all(
    [first, second].flatMap((store) => Array.from({ length: 60 }, () => store.claimRollouts())),
  );
  const ids = claims.flat().map((rollout) => rollout.rolloutId);
  expect(ids).toHaveLength(100);
  expect(new Set(ids).size).toBe(100);
  await Promise.all([first.close(), second.close()]);
});

test('one process wakes the other, which waits for a claim or for the end of rollouts', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const [runner, trainer] = [
    await openStore(file, { outsidePollMs: 20 }),
    await openStore(file, { outsidePollMs: 20 }),
  ];
  const work = runner.claimRollouts({ waitMs: 20_000 });
  const [rollout] = await trainer.enqueueRollouts([{ input: 1 }]);
  const rolloutId = rollout?.rolloutId ?? '';
  const end = trainer.waitForRollouts([rolloutId], { timeoutMs: 20_000 });
  expect(await work).toMatchObject([{ rolloutId }]);
  await runner.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
  expect(await end).toMatchObject([{ rolloutId, status: 'succeeded' }]);
  await Promise.all([runner.close(), trainer.close()]);
});

test('waits for another process that writes, and reports a timeout', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openStore(file, { busyTimeoutMs: 150 });
  const other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  await expect(store.enqueueRollouts([{ input: 1 }])).rejects.toMatchObject({ code: 'TIMEOUT' });
  const patient = store.enqueueRollouts([{ input: 2 }]);
  setTimeout(() => other.exec('ROLLBACK'), 20);
  expect(await patient).toHaveLength(1);
  expect((await store.queryRollouts()).items.map((rollout) => rollout.input)).toEqual([2]);
  other.close();
  await store.close();
});

test('ends waits when it is closed, and rejects later requests', async () => {
  const store = await openStore(':memory:');
  const [rollout] = await store.enqueueRollouts([{ input: 1 }]);
  await store.claimRollouts();
  const work = store.claimRollouts({ waitMs: 20_000, workerId: 'worker-1' });
  const end = store.waitForRollouts([rollout?.rolloutId ?? '']);
  await new Promise((resolve) => setImmediate(resolve));
  const closed = store.close();
  expect(await work).toEqual([]);
  expect(await end).toEqual([]);
  await closed;
  await expect(store.statistics()).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  await store.close();
});
