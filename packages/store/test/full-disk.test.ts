import { join } from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('reports a full disk, keeps acknowledged writes, and leaves no partial write', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openStore(file, { maxSizeBytes: 600_000 });
  const acknowledged: string[] = [];
  const failure = await fill();
  expect(failure).toMatchObject({ code: 'STORE_FULL', remedy: expect.stringContaining('space') });
  expect(acknowledged.length).toBeGreaterThan(5);
  expect(await idsOf(store)).toEqual(acknowledged);
  await store.close();

  const roomier = await openStore(file);
  expect(await idsOf(roomier)).toEqual(acknowledged);
  await roomier.enqueueRollouts([{ input: 'fits again' }]);
  expect(await roomier.claimRollouts({ limit: 1000 })).toHaveLength(acknowledged.length + 1);
  await roomier.close();

  async function fill(): Promise<unknown> {
    try {
      for (;;) {
        const batch = [1, 2, 3].map((input) => ({ input: `${input}`.repeat(8000) }));
        acknowledged.push(...(await store.enqueueRollouts(batch)).map((rollout) => rollout.rolloutId));
      }
    } catch (error) {
      expect(AgentLightningError.isInstance(error)).toBe(true);
      return error;
    }
  }
});

test('accepts writes again when disk space is available', async () => {
  await using folder = await temporaryFolder();
  const store = await openStore(join(folder.path, 'agl.db'), { maxSizeBytes: 600_000 });
  const fill = async (): Promise<never> => {
    for (;;) await store.enqueueRollouts([{ input: 'x'.repeat(20_000) }]);
  };
  const finished = (await store.enqueueRollouts([1, 2, 3].map(() => ({ input: 'x'.repeat(20_000) })))).map(
    ({ rolloutId }) => rolloutId,
  );
  for (const rolloutId of finished) await store.updateRollout(rolloutId, { status: 'cancelled' });
  await expect(fill()).rejects.toMatchObject({ code: 'STORE_FULL' });
  await expect(fill()).rejects.toMatchObject({ code: 'STORE_FULL' });
  await store.deleteRollouts(finished);
  await store.enqueueRollouts([{ rolloutId: 'ro-fits', input: 'x'.repeat(20_000) }]);
  expect((await store.claimRollouts({ limit: 1000 })).at(-1)).toMatchObject({ rolloutId: 'ro-fits' });
  await store.close();
});

async function idsOf(store: Awaited<ReturnType<typeof openStore>>): Promise<readonly string[]> {
  return (await store.queryRollouts()).items.map((rollout) => rollout.rolloutId);
}
