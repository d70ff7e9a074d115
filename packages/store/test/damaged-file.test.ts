import { open, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backupStore, openStore, restoreStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('reports a damaged or truncated file with a remedy; a backup restores it', async () => {
  await using folder = await temporaryFolder();
  const [file, copy] = [join(folder.path, 'agl.db'), join(folder.path, 'copy.db')];
  const store = await openStore(file);
  const rollouts = await store.enqueueRollouts(Array.from({ length: 200 }, () => ({ input: 'x'.repeat(2000) })));
  await store.close();
  await backupStore(file, copy);

  for (const damage of [damagePages, cutOff]) {
    await damage(file);
    const before = await readFile(file);
    await expect(readEverything(file)).rejects.toMatchObject({
      code: 'STORE_SCHEMA',
      message: expect.stringContaining(file),
      remedy: expect.stringContaining('agl store restore'),
    });
    // The damaged file is not modified.
    expect(before.equals(await readFile(file))).toBe(true);
    await restoreStore(copy, file, { force: true });
    expect(await readEverything(file)).toBe(rollouts.length);
  }
});

async function readEverything(file: string): Promise<number> {
  const store = await openStore(file, { watchdogIntervalMs: 1_000_000 });
  try {
    const { items } = await store.queryRollouts();
    return items.length;
  } finally {
    await store.close();
  }
}

/** Writes nonsense over everything but the first pages, which say that it is a database. */
async function damagePages(file: string): Promise<void> {
  const { length } = await readFile(file);
  const handle = await open(file, 'r+');
  const nonsense = Buffer.alloc(length - 200_000, 'nonsense');
  await handle.write(nonsense, 0, nonsense.length, 200_000);
  await handle.close();
}

async function cutOff(file: string): Promise<void> {
  await truncate(file, 200_000);
}
