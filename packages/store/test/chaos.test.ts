import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { runStoreChaos } from './chaos/run-store-chaos.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('loses nothing that it acknowledged, and does nothing twice, when its server is killed under load', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const { acknowledged, losses } = await runStoreChaos({
    location: file,
    kills: 5,
    clients: 3,
    spansPerLife: 60,
    seed: 7,
  });
  expect(losses).toEqual([]);
  expect(acknowledged.spans).toBeGreaterThan(50);
  const database = new DatabaseSync(file);
  expect(database.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' });
  database.close();
}, 120_000);
