// @module-tag long
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { startPostgres } from '../src/testing/index.ts';
import { runStoreChaos, type Victim } from './chaos/run-store-chaos.ts';
import { describePostgres } from './postgres/describe-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('loses no acknowledged write, and repeats none, when its server is killed under load', async () => {
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

describePostgres('on PostgreSQL', () => {
  test('loses no acknowledged write when its database is killed too', async () => {
    await using postgres = await startPostgres({ path: process.env.PATH ?? '' });
    const victims: Victim[] = [];
    const { acknowledged, losses } = await runStoreChaos({
      location: await postgres.createDatabase(),
      kills: 2,
      database: { program: postgres, kills: 2 },
      clients: 2,
      spansPerLife: 40,
      seed: 7,
      onKill: (victim) => victims.push(victim),
    });
    expect(losses).toEqual([]);
    expect(victims).toEqual(['server', 'database', 'server', 'database']);
    expect(acknowledged.spans).toBeGreaterThan(20);
  }, 120_000);
});
