import type { StoreChange } from '@agentlightning/core/store';
import { aSpan } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore, type SqlStore } from '../src/index.ts';
import { createTestDatabase, type TestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

describePostgres('changes of another process', () => {
  let database: TestDatabase;
  let here: SqlStore;
  let there: SqlStore;
  let heard: HeardChanges;
  beforeEach(async () => {
    database = await createTestDatabase();
    here = await openStore(database.url);
    there = await openStore(database.url);
    heard = new HeardChanges(here);
  });
  afterEach(async () => {
    await Promise.all([here.close(), there.close()]);
    await database[Symbol.asyncDispose]();
  });

  test('are sent individually', async () => {
    await there.createRun({ runId: 'run-1', name: 'a run', config: {} });
    const { resourcesId } = await there.addResources({});
    const [rollout] = await there.enqueueRollouts([{ input: 1, runId: 'run-1' }]);
    const rolloutId = rollout?.rolloutId ?? '';
    const [claimed] = await there.claimRollouts();
    const attemptId = claimed?.attempt.attemptId ?? '';
    const spans = [1, 2].map((sequenceId) => aSpan({ rolloutId, attemptId, sequenceId }));
    await there.appendSpans(spans);
    await there.updateAttempt(rolloutId, attemptId, { status: 'succeeded' });

    await heard.until((change) => change.kind === 'attempt' && change.status === 'succeeded');
    await heard.until((change) => change.kind === 'rollout' && change.status === 'succeeded');
    expect(heard.all).toEqual(
      expect.arrayContaining([
        { kind: 'run', runId: 'run-1', status: 'running' },
        { kind: 'resources', resourcesId, version: 1 },
        { kind: 'rollout', rolloutId, runId: 'run-1', status: 'queuing' },
        { kind: 'spans', rolloutId, attemptId, count: 2, lastSequenceId: 2 },
        { kind: 'attempt', rolloutId, attemptId, status: 'succeeded' },
        { kind: 'rollout', rolloutId, runId: 'run-1', status: 'succeeded' },
      ]),
    );
    expect(heard.all.filter(({ kind }) => kind === 'unknown')).toEqual([]);
  });

  test('are split into several messages, and sent as unknown when too many', async () => {
    const some = await there.enqueueRollouts(Array.from({ length: 500 }, (_, input) => ({ input })));
    await heard.until((change) => change.kind === 'rollout' && change.rolloutId === some.at(-1)?.rolloutId);
    const received = new Set(heard.all.flatMap((change) => (change.kind === 'rollout' ? [change.rolloutId] : [])));
    expect(received).toEqual(new Set(some.map(({ rolloutId }) => rolloutId)));
    heard.forget();
    await there.enqueueRollouts(Array.from({ length: 2000 }, (_, input) => ({ input })));
    await heard.until(({ kind }) => kind === 'unknown');
    expect(heard.all).toEqual([{ kind: 'unknown' }]);
  });

  test('of other applications, or in an unknown format, are reported as unknown', async () => {
    heard.forget();
    await database.execute("SELECT pg_notify('agentlightning:public', 'hello')");
    await heard.until(({ kind }) => kind === 'unknown');
  });

  test('are received again after the connection was lost', async () => {
    heard.forget();
    await database.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()",
    );
    await heard.until(({ kind }) => kind === 'unknown');
    const { resourcesId } = await there.addResources({});
    await heard.until((change) => change.kind === 'resources' && change.resourcesId === resourcesId);
  });

  test('of the same process are received once', async () => {
    heard.forget();
    const { resourcesId } = await here.addResources({});
    const later = await there.addResources({});
    await heard.until((change) => change.kind === 'resources' && change.resourcesId === later.resourcesId);
    expect(
      heard.all.filter((change) => change.kind === 'resources' && change.resourcesId === resourcesId),
    ).toHaveLength(1);
  });
});

/** The changes that a store reported since this was created. */
class HeardChanges {
  readonly #heard: StoreChange[] = [];
  #resume: () => void = () => undefined;

  constructor(store: SqlStore) {
    store.subscribe((changes) => {
      this.#heard.push(...changes);
      this.#resume();
    });
  }

  get all(): readonly StoreChange[] {
    return this.#heard;
  }

  forget(): void {
    this.#heard.length = 0;
  }

  /** Resolves when there is such a change among those that were heard. */
  async until(isWanted: (change: StoreChange) => boolean): Promise<void> {
    while (!this.#heard.some(isWanted)) {
      await new Promise<void>((resume) => {
        this.#resume = resume;
      });
    }
  }
}
