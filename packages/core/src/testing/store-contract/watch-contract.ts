import { assert, describe, expect } from 'vitest';
import type { AttemptStatus } from '../../store/attempt.ts';
import type { RolloutStatus } from '../../store/rollout-status.ts';
import type { Store } from '../../store/store.ts';
import type { StoreChange, WatchOptions } from '../../store/store-change.ts';
import { aSpan } from '../a-span.ts';
import { claimOne, enqueueOne, type StoreTest } from './store-test.ts';

/** Change streams. */
export function describeWatching(test: StoreTest): void {
  describe('watching', () => {
    test('starts with unknown, followed by all changes of a rollout', async ({ store }) => {
      await using watch = await watching(store);
      const { rolloutId, attempt } = await claimOne(store);
      const { attemptId } = attempt;
      await store.appendSpans(
        [1, 2].map((n) => aSpan({ rolloutId, attemptId, spanId: `${n}`.repeat(16), sequenceId: n })),
      );
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      const seen = await watch.until(isRollout('succeeded'));
      const ofRollout = (status: RolloutStatus): StoreChange => ({ kind: 'rollout', rolloutId, runId: null, status });
      const ofAttempt = (status: AttemptStatus): StoreChange => ({ kind: 'attempt', rolloutId, attemptId, status });
      const ofSpans = { kind: 'spans', rolloutId, attemptId, count: 2, lastSequenceId: 2 } as const;
      // Changes of one write arrive together, in any order.
      const expected = [
        [ofRollout('queuing')],
        [ofRollout('preparing'), ofAttempt('preparing')],
        [ofRollout('running'), ofAttempt('running'), ofSpans],
        [ofAttempt('succeeded'), ofRollout('succeeded')],
      ];
      for (const write of expected) {
        expect(seen.slice(0, write.length)).toEqual(expect.arrayContaining(write));
        seen.splice(0, write.length);
      }
    });

    test('reports runs, resources and deletions', async ({ store }) => {
      await using watch = await watching(store);
      await store.createRun({ runId: 'run-1', name: 'one', config: {} });
      const { resourcesId } = await store.addResources({});
      const { rolloutId } = await enqueueOne(store);
      await store.updateRollout(rolloutId, { status: 'cancelled' });
      await store.deleteRollouts([rolloutId]);
      await store.updateRun('run-1', { status: 'finished' });
      await store.deleteRun('run-1');
      const seen = await watch.until((change) => change.kind === 'run-deleted');
      expect(seen).toContainEqual({ kind: 'run', runId: 'run-1', status: 'running' });
      expect(seen).toContainEqual({ kind: 'resources', resourcesId, version: 1 });
      expect(seen).toContainEqual({ kind: 'rollout-deleted', rolloutId, runId: null });
      expect(seen).toContainEqual({ kind: 'run', runId: 'run-1', status: 'finished' });
    });

    test('filters by rollouts and kinds', async ({ store }) => {
      const wanted = await enqueueOne(store);
      const options = { rolloutIdIn: [wanted.rolloutId], kindIn: ['rollout' as const] };
      await using watch = await watching(store, options);
      await enqueueOne(store);
      await store.claimRollouts({ limit: 2 });
      await store.updateAttempt(wanted.rolloutId, 'latest', { status: 'failed' });
      const seen = await watch.until(isRollout('failed'));
      expect(seen.map((change) => (change.kind === 'rollout' ? [change.rolloutId, change.status] : change))).toEqual([
        [wanted.rolloutId, 'preparing'],
        [wanted.rolloutId, 'failed'],
      ]);
    });

    test('filters by run, including the attempts and spans of its rollouts', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'one', config: {} });
      const other = await claimOne(store);
      const { rolloutId, attempt } = await claimOne(store, { runId: 'run-1' });
      await using watch = await watching(store, { runId: 'run-1' });
      for (const [owner, { attemptId }] of [
        [other.rolloutId, other.attempt],
        [rolloutId, attempt],
      ] as const) {
        await store.appendSpans([aSpan({ rolloutId: owner, attemptId })]);
      }
      await store.updateRun('run-1', { status: 'finished' });
      const seen = await watch.until((change) => change.kind === 'run');
      expect(seen.map(({ kind }) => kind).sort()).toEqual(['attempt', 'rollout', 'run', 'spans']);
      expect(seen).not.toContainEqual(expect.objectContaining({ rolloutId: other.rolloutId }));
    });

    test('ends on abort', async ({ store }) => {
      const giveUp = new AbortController();
      const changes = store.watchChanges({ signal: giveUp.signal })[Symbol.asyncIterator]();
      await changes.next();
      const next = changes.next();
      giveUp.abort();
      expect(await next).toMatchObject({ done: true });
    });

    test('ends when the store is closed', async ({ store }) => {
      const changes = store.watchChanges()[Symbol.asyncIterator]();
      await changes.next();
      const next = changes.next();
      await store.close();
      expect(await next).toMatchObject({ done: true });
    });
  });
}

interface Watch extends AsyncDisposable {
  /** Changes up to and including the first match. */
  readonly until: (isLast: (change: StoreChange) => boolean) => Promise<StoreChange[]>;
}

function isRollout(status: RolloutStatus): (change: StoreChange) => boolean {
  return (change) => change.kind === 'rollout' && change.status === status;
}

/** Starts watching a store. */
async function watching(store: Store, options: WatchOptions = {}): Promise<Watch> {
  const giveUp = new AbortController();
  const changes = store.watchChanges({ ...options, signal: giveUp.signal })[Symbol.asyncIterator]();
  expect(await changes.next()).toEqual({ done: false, value: { kind: 'unknown' } });
  return {
    until: async (isLast) => {
      const seen: StoreChange[] = [];
      for (;;) {
        const { done, value } = await changes.next();
        assert(done !== true, 'the watch ended');
        seen.push(value);
        if (isLast(value)) return seen;
      }
    },
    [Symbol.asyncDispose]: async () => {
      giveUp.abort();
      await changes.return?.();
    },
  };
}
