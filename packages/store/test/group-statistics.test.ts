import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { aRewardSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { sqliteDialect } from '../src/drivers/sqlite-dialect.ts';
import { openStore } from '../src/index.ts';
import { groupStatement } from '../src/operations/runs/read-group-statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

test.each([{}, { startTimeFromMs: 5 }])('the statistics of groups are read by indexes: %j', async (query) => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  await (await openStore(file)).close();
  using database = new DatabaseSync(file);
  const { sql, parameters } = groupStatement(sqliteDialect, 'run-1', query);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
  const steps = plan.map(({ detail }) => String(detail));
  expect(steps.filter((step) => step.startsWith('SCAN'))).toEqual([]);
  expect(steps).toContainEqual(expect.stringMatching(/SEARCH r USING INDEX rollouts_by_run/));
  expect(steps).toContainEqual(expect.stringMatching(/SEARCH a USING INDEX .*rollout_id=\? AND attempt_id=\?/));
});

test('imported rewards are part of the statistics', async () => {
  const source = await openStore(':memory:');
  await source.createRun({ runId: 'run-1', name: 'first', config: {} });
  await source.enqueueRollouts([{ runId: 'run-1', mode: 'train', input: 1, metadata: { step: 1, task_index: 0 } }]);
  const [rollout] = await source.claimRollouts();
  const ids = { rolloutId: rollout?.rolloutId ?? '', attemptId: rollout?.attempt.attemptId ?? '' };
  await source.appendSpans([aRewardSpan(0.75, ids)]);
  await source.updateAttempt(ids.rolloutId, ids.attemptId, { status: 'succeeded' });
  const target = await openStore(':memory:');
  await target.importRun(source.exportRun('run-1'));
  expect(await target.groupStatistics('run-1')).toEqual(await source.groupStatistics('run-1'));
  expect((await target.groupStatistics('run-1'))[0]?.meanReward).toBe(0.75);
  await source.close();
  await target.close();
});
