import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backupStore, openStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

test('a new store and its backups can be read by their user only', async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'data');
  const file = join(data, 'agl.db');
  const store = await openStore(file);
  await store.enqueueRollouts([{ input: 1 }]);
  expect(await modeOf(data)).toBe('700');
  for (const path of [file, `${file}-wal`, `${file}-shm`]) expect([path, await modeOf(path)]).toEqual([path, '600']);
  const backup = join(folder.path, 'backup.db');
  await backupStore(file, backup);
  expect(await modeOf(backup)).toBe('600');
  await store.close();
});
