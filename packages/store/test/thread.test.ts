import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import {
  IllegalTransitionError,
  type JsonObject,
  NotFoundError,
  type Span,
  type Store,
  ValidationError,
} from '@agentlightning/core';
import { aSpan, ManualClock } from '@agentlightning/core/testing';
import { assert, expect, test } from 'vitest';
import { openStore, openStoreInThread, SqlStore } from '../src/index.ts';
import { openByProgram } from '../src/thread/open-store-in-thread.ts';
import { ThreadStore } from '../src/thread/thread-store.ts';
import { runFixture } from './fixtures/run-fixture.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A file for a store, and the store in a thread of its own; both are gone at the end of the block. */
async function threadStore(): Promise<{ readonly file: string; readonly store: Store } & AsyncDisposable> {
  const folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openStoreInThread(file, { outsidePollMs: 20 });
  expect(store).toBeInstanceOf(ThreadStore);
  return {
    file,
    store,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('what a store in a thread has acknowledged is in its file, and read from there by others', async () => {
  await using opened = await threadStore();
  const { store, file } = opened;
  const { rolloutId, attempt } = await store.startRollout({ input: { question: '6 × 7 – wie viel?' } });
  const spans = Array.from({ length: 300 }, (_, index) =>
    aSpan({
      rolloutId,
      attemptId: attempt.attemptId,
      spanId: `${index}`.padStart(16, '0'),
      sequenceId: index + 1,
      attributes: { text: '€é'.repeat(index) },
    }),
  );
  const recorded = await Promise.all(spans.map((span) => store.appendSpans([span])));
  expect(recorded.flat()).toEqual(spans);
  const { sequenceId: _own, ...unnumbered } = aSpan({
    rolloutId,
    attemptId: attempt.attemptId,
    spanId: 'f'.repeat(16),
  });
  expect(await store.appendSpans([unnumbered])).toEqual([{ ...unnumbered, sequenceId: 301 }]);
  expect(await store.appendSpans(spans.slice(0, 2))).toEqual([null, null]);

  const other = await openStore(file);
  expect((await other.querySpans({ rolloutId, limit: 300 })).items).toEqual(spans);
  expect(await store.querySpans({ rolloutId })).toEqual(await other.querySpans({ rolloutId }));
  await other.updateAttempt(rolloutId, 'latest', { status: 'failed', metadata: { by: 'another' } });
  expect(await store.getLatestAttempt(rolloutId)).toEqual(await other.getLatestAttempt(rolloutId));
  await other.close();
});

test('a read that is asked for after a write sees it, although nobody waited for the write', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const { rolloutId } = await store.startRollout({ input: 1 });
  const ended = store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
  expect(await store.getLatestAttempt(rolloutId)).toMatchObject({ status: 'succeeded' });
  await ended;
  expect(await store.getLatestAttempt('ro-unknown')).toBeNull();
});

test('errors come over as what they were', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const unknown = await store.getRollout('ro-unknown').catch((error: unknown) => error);
  expect(unknown).toBeInstanceOf(NotFoundError);
  expect(unknown).toMatchObject({ message: '[NOT_FOUND] Rollout ro-unknown not found', details: { id: 'ro-unknown' } });
  const invalid = await store.queryRollouts({ limit: Number.NaN }).catch((error: unknown) => error);
  expect(invalid).toBeInstanceOf(ValidationError);
  expect(invalid).toMatchObject({ issues: [{ path: 'limit' }] });
  const { rolloutId } = await store.startRollout({ input: 1 });
  await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
  const illegal = store.updateRollout(rolloutId, { status: 'running' });
  await expect(illegal).rejects.toBeInstanceOf(IllegalTransitionError);
});

test('a store that cannot be opened says why, as it does without a thread', async () => {
  await using folder = await temporaryFolder();
  await expect(openStoreInThread('mysql:somewhere')).rejects.toBeInstanceOf(ValidationError);
  await expect(openStoreInThread(folder.path)).rejects.toMatchObject({ code: 'CONFIG' });
  await expect(openStoreInThread(join(folder.path, 'agl.db'), { maxLostClaims: 0 })).rejects.toMatchObject({
    code: 'VALIDATION',
  });
});

test('a wait ends when the caller gives up, and claims nothing after that', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const giveUp = new AbortController();
  const claim = store.claimRollouts({ waitMs: 60_000, signal: giveUp.signal });
  const running = await store.startRollout({ input: 1 });
  const end = store.waitForRollouts([running.rolloutId], { signal: giveUp.signal });
  await store.statistics();
  giveUp.abort();
  expect([await claim, await end]).toEqual([[], []]);
  const [queued] = await store.enqueueRollouts([{ input: 2 }]);
  expect(await store.claimRollouts({ signal: giveUp.signal })).toEqual([]);
  expect(await store.claimRollouts()).toMatchObject([{ rolloutId: queued?.rolloutId }]);
});

test('a watcher sees what is changed here, and that another process has changed something', async () => {
  await using opened = await threadStore();
  const { store, file } = opened;
  const changes = store.watchChanges({ kindIn: ['run'] })[Symbol.asyncIterator]();
  expect(await changes.next()).toEqual({ done: false, value: { kind: 'unknown' } });
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
  expect(await changes.next()).toMatchObject({ value: { kind: 'run', runId: 'run-1' } });
  const other = await openStore(file);
  await other.createRun({ runId: 'run-2', name: 'two', config: {} });
  expect(await changes.next()).toEqual({ done: false, value: { kind: 'unknown' } });
  await other.close();
  await changes.return?.();
});

test('a watcher hears what a span that came alone has changed, and that another connection has written it', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const changes = store.watchChanges({ kindIn: ['spans'] })[Symbol.asyncIterator]();
  await changes.next();
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const { attemptId } = attempt;
  const { sequenceId: _own, ...span } = aSpan({ rolloutId, attemptId });
  expect(await store.appendSpans([span])).toEqual([{ ...span, sequenceId: 1 }]);
  const change = { kind: 'spans', rolloutId, attemptId, count: 1, lastSequenceId: 1 };
  expect([await changes.next(), await changes.next()]).toEqual(
    expect.arrayContaining([
      { done: false, value: change },
      { done: false, value: { kind: 'unknown' } },
    ]),
  );
  await changes.return?.();
});

test('a span is stored by the other thread when it cannot be written in this one', async () => {
  await using opened = await threadStore();
  const { store, file } = opened;
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const { sequenceId: _own, ...span } = aSpan({ rolloutId, attemptId: attempt.attemptId });
  const stored = store.appendSpans([span]);
  other.exec('COMMIT');
  other.close();
  expect(await stored).toEqual([{ ...span, sequenceId: 1 }]);
  await expect(store.appendSpans([{ ...span, rolloutId: 'ro-unknown' }])).rejects.toBeInstanceOf(NotFoundError);
});

test('spans that are asked for together are numbered in that order, whichever thread writes them', async () => {
  await using opened = await threadStore();
  const { store, file } = opened;
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const other = new DatabaseSync(file, { timeout: 5000 });
  const append = async (attributes: Span['attributes']): Promise<unknown> => {
    const { sequenceId: _own, ...span } = aSpan({ rolloutId, attemptId: attempt.attemptId, attributes });
    const [stored] = await store.appendSpans([span]);
    return stored?.sequenceId;
  };
  // The first is too long to be written here.
  expect(await Promise.all([append({ text: 'x'.repeat(200_000) }), append({}), append({})])).toEqual([1, 2, 3]);
  expect(await Promise.all([append({}), append({}), append({})])).toEqual([4, 5, 6]);
  // The first cannot be written here, and the others come when it is known.
  other.exec('BEGIN IMMEDIATE');
  const blocked = Promise.all([append({}), append({}), append({})]);
  other.exec('COMMIT');
  other.close();
  expect(await blocked).toEqual([7, 8, 9]);
});

test('a span that was asked for before the store is closed is stored, whichever thread writes it', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const span = aSpan({ rolloutId, attemptId: attempt.attemptId, attributes: { text: 'x'.repeat(200_000) } });
  const stored = store.appendSpans([span]);
  await store.close();
  expect(await stored).toEqual([span]);
});

test('a store that waits for no other process does not find its file locked by itself', async () => {
  await using folder = await temporaryFolder();
  const store = await openStoreInThread(join(folder.path, 'agl.db'), { busyTimeoutMs: 0 });
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const { attemptId } = attempt;
  let isWriting = true;
  const claims = async (): Promise<void> => {
    while (isWriting) expect(await store.claimRollouts({ workerId: 'worker-1' })).toEqual([]);
  };
  const claimed = claims();
  for (let sequenceId = 1; sequenceId <= 200; sequenceId += 1) {
    const span = aSpan({ rolloutId, attemptId, sequenceId });
    expect(await store.appendSpans([span])).toEqual([span]);
    // Spans come one by one, and less often than once a millisecond.
    await pause(2);
  }
  isWriting = false;
  await claimed;
  await store.close();
});

test('a watcher who reads slowly misses nothing of what came meanwhile', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const changes = store.watchChanges({ kindIn: ['run'] })[Symbol.asyncIterator]();
  await changes.next();
  for (let step = 0; step < 100; step += 1) await store.createRun({ runId: `run-${step}`, name: 'one', config: {} });
  for (let step = 0; step < 100; step += 1) {
    expect(await changes.next()).toMatchObject({ value: { kind: 'run', runId: `run-${step}` } });
  }
  await changes.return?.();
});

test('giving up is no error while the store closes, nor when it is closed', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const giveUp = new AbortController();
  const claim = store.claimRollouts({ waitMs: 60_000, signal: giveUp.signal });
  const closed = store.close();
  giveUp.abort();
  expect(await claim).toEqual([]);
  await closed;
  const late = store.waitForRollouts(['ro-1'], { signal: giveUp.signal });
  await expect(late).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
});

test('a thread that dies fails what waits and what comes after, and says so', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openByProgram(pathToFileURL(join(import.meta.dirname, 'fixtures/dying-store-worker.ts')), file);
  const [rollout] = await store.enqueueRollouts([{ input: 1 }]);
  const { rolloutId } = rollout ?? { rolloutId: '' };
  const changes = store.watchChanges()[Symbol.asyncIterator]();
  await changes.next();
  const waits = [store.waitForRollouts([rolloutId]), changes.next(), store.getRun('die')];
  for (const outcome of await Promise.allSettled(waits)) {
    expect(outcome).toMatchObject({
      reason: {
        code: 'UNREACHABLE',
        message: expect.stringContaining('no more memory'),
        details: { outcome: 'unknown' },
      },
    });
  }
  await expect(store.getLatestAttempt(rolloutId)).rejects.toMatchObject({ code: 'UNREACHABLE' });
  await expect(store.appendSpans([aSpan()])).rejects.toMatchObject({ code: 'UNREACHABLE' });
  await store.close();
  const again = await openStore(file);
  expect(await again.getRollout(rolloutId)).toMatchObject({ status: 'queuing' });
  await again.close();
});

test('closing waits for what is under way, ends waits, and refuses what comes after', async () => {
  await using opened = await threadStore();
  const { store, file } = opened;
  const wait = store.claimRollouts({ waitMs: 60_000, runId: 'run-1' });
  const writes = Array.from({ length: 50 }, (_, index) => store.enqueueRollouts([{ input: { index } }]));
  const closed = store.close();
  await expect(store.statistics()).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  expect((await Promise.all(writes)).flat()).toHaveLength(50);
  expect(await wait).toEqual([]);
  await closed;
  await expect(store.getLatestAttempt('ro-1')).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  await store.close();
  const again = await openStore(file);
  expect(await again.queryRollouts()).toMatchObject({ total: 50 });
  await again.close();
});

test('opens the store here where there is no other thread to be had, or a clock to go by', async () => {
  const missing = pathToFileURL('/nowhere/store-worker.js');
  for (const store of [
    await openByProgram(missing, ':memory:'),
    await openStoreInThread(':memory:', { clock: new ManualClock() }),
  ]) {
    expect(store).toBeInstanceOf(SqlStore);
    expect(await store.enqueueRollouts([{ input: 1 }])).toHaveLength(1);
    await store.close();
  }
});

test('a store in the memory of the thread is a store like any other', async () => {
  const store = await openStoreInThread(':memory:');
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  expect(await store.getLatestAttempt(rolloutId)).toEqual(attempt);
  await store.close();
});

test('what threads cannot copy is written as its JSON is, and what has none takes nobody with it', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const odd = { kept: 1, left: () => 2 } as unknown as JsonObject;
  const circle: Record<string, unknown> = { self: () => circle };
  circle.circle = circle;
  const [good, plain, none] = await Promise.allSettled([
    store.enqueueRollouts([{ input: 1 }]),
    store.enqueueRollouts([{ input: odd }]),
    store.enqueueRollouts([{ input: circle as JsonObject }]),
  ]);
  expect(good).toMatchObject({ value: [{ input: 1 }] });
  expect(plain).toMatchObject({ value: [{ input: { kept: 1 } }] });
  assert(none.status === 'rejected');
  expect(none.reason).toBeInstanceOf(ValidationError);
  expect(await store.queryRollouts()).toMatchObject({ total: 2 });
});

test('an archive that fails on its way in gives its own error, and one that is left is not read on', async () => {
  await using opened = await threadStore();
  const { store } = opened;
  const broken = new Error('the disk is gone');
  const importing = store.importRun(
    (async function* () {
      yield new Uint8Array([0x1f, 0x8b]);
      throw broken;
    })(),
  );
  await expect(importing).rejects.toBe(broken);
  await store.createRun({ runId: 'run-1', name: 'one', config: { text: 'x'.repeat(1000) } });
  for await (const piece of store.exportRun('run-1')) {
    expect(piece.byteLength).toBeGreaterThan(0);
    break;
  }
});

test('a process ends although it left a store open, but not while somebody waits, or closes it', async () => {
  await using folder = await temporaryFolder();
  const left = runFixture('store-left-open.ts', [join(folder.path, 'left.db')]);
  const closed = runFixture('store-left-open.ts', [join(folder.path, 'closed.db'), 'close']);
  expect([await left.exitCode, await closed.exitCode]).toEqual([0, 0]);
  expect(left.lines).toEqual(['queuing', '0']);
  expect(closed.lines).toEqual(['queuing', '0', 'closed']);
});
