import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import type { SpanInput } from '@agentlightning/core';
import { aSpan } from '@agentlightning/core/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openStore, type SqlStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Records spans of a finished rollout. */
async function finishedRollout(
  store: SqlStore,
  spansOf: (index: number) => Partial<SpanInput>,
  count = 1,
): Promise<string> {
  const { rolloutId, attempt } = await store.startRollout({ input: 'task' });
  for (let index = 0; index < count; index += 1) {
    const ids = { rolloutId, attemptId: attempt.attemptId, spanId: `span-${index}` };
    await store.appendSpans([aSpan({ ...ids, ...spansOf(index) })]);
  }
  await store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
  return rolloutId;
}

async function found(store: SqlStore, text: string): Promise<readonly string[]> {
  const { items } = await store.searchRollouts({ text });
  return items.map(({ rollout }) => rollout.rolloutId);
}

test('the texts of a large attempt are indexed in steps that do not block the store', async () => {
  const store = await openStore(':memory:', { watchdogIntervalMs: 1e9 });
  // Few distinct words: the index would read all of the 60 MiB.
  const filler = 'the same words again and again '.repeat(30_000);
  const rolloutId = await finishedRollout(
    store,
    (index) => ({ attributes: { text: `${index} needle${index} ${filler}` } }),
    64,
  );
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  expect(await found(store, 'needle1')).toEqual([rolloutId]);
  // In one step it takes several seconds.
  expect(delays.max / 1e6).toBeLessThan(400);
  // Beyond the bytes that are indexed.
  expect(await found(store, 'needle9')).toEqual([]);
  await store.close();
});

test('a text that cannot be indexed is set aside and reported, and does not delay others', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'agl.db');
  const store = await openStore(path, { watchdogIntervalMs: 1e9 });
  const good = await finishedRollout(store, () => ({ name: 'goodword' }));
  await finishedRollout(store, () => ({ name: 'badword' }));
  const database = new DatabaseSync(path);
  database.exec("UPDATE spans SET body = '{' WHERE name = 'badword'");
  database.close();
  const warnings: string[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning.message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  await vi.waitFor(async () => expect(await found(store, 'goodword')).toEqual([good]));
  const { unindexed } = await store.searchRollouts({ text: 'goodword' });
  expect(unindexed).toBe(0);
  await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining('is not found by searches')]));
  await store.close();
});

test.each([
  ['maxSpanBytes', { maxSpanBytes: 2000 }],
  ['maxAttemptSpans', { maxAttemptSpans: 2 }],
  ['maxAttemptBytes', { maxAttemptBytes: 5000 }],
])('an imported archive is within the quota %s', async (quota, quotas) => {
  const source = await openStore(':memory:');
  await source.createRun({ runId: 'run-1', name: 'run', config: {} });
  const [{ rolloutId } = { rolloutId: '' }] = await source.enqueueRollouts([{ input: 1, runId: 'run-1' }]);
  const [claimed] = await source.claimRollouts();
  const attemptId = claimed?.attempt.attemptId ?? '';
  const attributes = { text: 'x'.repeat(3000) };
  await source.appendSpans(['a', 'b', 'c'].map((spanId) => aSpan({ rolloutId, attemptId, spanId, attributes })));
  const target = await openStore(':memory:', { quotas });
  await expect(target.importRun(source.exportRun('run-1'))).rejects.toMatchObject({
    code: 'QUOTA_EXCEEDED',
    message: expect.stringContaining(quota),
  });
  await expect(target.getRun('run-1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await Promise.all([source.close(), target.close()]);
});
