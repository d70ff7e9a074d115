import { gunzipSync } from 'node:zlib';
import { aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { openStore, type SqlStore } from '../src/index.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

describePostgres('a run that goes to PostgreSQL', () => {
  test('returns to SQLite unchanged', async () => {
    await using database = await createTestDatabase();
    const [first, second, third] = await Promise.all([
      openStore(':memory:'),
      openStore(database.url),
      openStore(':memory:'),
    ]);
    await aRun(first);
    await second.importRun(first.exportRun('run-1'));
    await third.importRun(second.exportRun('run-1'));
    const texts = await Promise.all([first, second, third].map((store) => textOf(store)));
    expect(texts[0]?.split('\n').length).toBeGreaterThan(300);
    expect(texts[1]).toBe(texts[0]);
    expect(texts[2]).toBe(texts[0]);
    await Promise.all([first, second, third].map((store) => store.close()));
  });
});

async function aRun(store: SqlStore): Promise<void> {
  await store.createRun({ runId: 'run-1', name: 'näme', config: { seed: 1 } });
  await store.addResources({ prompt: { resourceType: 'prompt_template', template: '{x}', engine: 'f-string' } });
  const requests = Array.from({ length: 60 }, (_, index) => ({ runId: 'run-1', input: { index, text: '\u0000💡' } }));
  await store.enqueueRollouts(requests);
  for (const { rolloutId, attempt } of await store.claimRollouts({ limit: 60 })) {
    const { attemptId } = attempt;
    await store.appendSpans([1, 2, 3].map((number) => aSpan({ rolloutId, attemptId, sequenceId: number })));
    await store.updateAttempt(rolloutId, attemptId, { status: 'succeeded' });
  }
  await store.updateRun('run-1', { status: 'finished', state: { step: 1 } }, [
    { runId: 'run-1', step: 1, timeMs: 1_700_000_000_000.5, values: { reward: 0.1 + 0.2 } },
  ]);
}

async function textOf(store: SqlStore): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of store.exportRun('run-1')) pieces.push(piece);
  return gunzipSync(Buffer.concat(pieces)).toString();
}
