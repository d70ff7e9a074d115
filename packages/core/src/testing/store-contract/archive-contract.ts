import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import type { Store } from '../../store/store.ts';
import { aSpan } from '../a-span.ts';
import { claimOne, enqueueOne, type StoreTest } from './store-test.ts';

/** Export and import of runs. */
export function describeArchives(test: StoreTest): void {
  describe('run archive', () => {
    test('restores a deleted run completely', async ({ store, clock }) => {
      await aTrainedRun(store);
      await clock.advance(5000);
      const before = await everythingOf(store);
      const archive = await collect(store.exportRun('run-1'));
      await store.deleteRun('run-1');
      expect(await store.importRun(inChunks(archive, 1000))).toEqual(before.run);
      expect(await everythingOf(store)).toEqual(before);
      const { rolloutId } = before.rollouts[0] ?? { rolloutId: '' };
      const next = await store.nextSpanSequenceIds([{ rolloutId, attemptId: 'latest' }]);
      expect(next).toEqual([4]);
    });

    test('is deterministic', async ({ store }) => {
      await aTrainedRun(store);
      expect(await collect(store.exportRun('run-1'))).toEqual(await collect(store.exportRun('run-1')));
    });

    test('does not change the latest resources', async ({ store }) => {
      await aTrainedRun(store);
      const archive = await collect(store.exportRun('run-1'));
      await store.deleteRun('run-1');
      const latest = await store.addResources({});
      await store.importRun(inChunks(archive, 100_000));
      expect(await store.getLatestResources()).toEqual(latest);
    });

    test('contains no keys of model endpoints', async ({ store }) => {
      await aTrainedRun(store);
      const text = unzip(await collect(store.exportRun('run-1')));
      expect(text).toContain('"endpoint":"http://localhost:1/v1"');
      expect(text).not.toContain('sk-secret');
    });

    test('drops the data directory of the machine that exported the run', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'one', config: {} });
      await store.updateRun('run-1', { status: 'finished', state: { dataDir: '/srv/data', seed: 3 } });
      const archive = await collect(store.exportRun('run-1'));
      await store.deleteRun('run-1');
      expect((await store.importRun(inChunks(archive, 100_000))).state).toEqual({ seed: 3 });
    });

    test('imports unfinished rollouts as cancelled', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'one', config: {} });
      const running = await claimOne(store, { runId: 'run-1' });
      const queued = await enqueueOne(store, { runId: 'run-1' });
      const archive = await collect(store.exportRun('run-1'));
      await store.deleteRun('run-1', { force: true });
      expect(await store.importRun(inChunks(archive, 100_000))).toMatchObject({ status: 'stopped' });
      for (const { rolloutId } of [running, queued]) {
        expect(await store.getRollout(rolloutId)).toMatchObject({ status: 'cancelled', endTimeMs: expect.any(Number) });
      }
      expect(await store.getLatestAttempt(running.rolloutId)).toMatchObject({
        status: 'unresponsive',
        endTimeMs: expect.any(Number),
      });
      expect(await store.claimRollouts()).toEqual([]);
      expect(await store.updateRollout(running.rolloutId, { status: 'requeuing' })).toMatchObject({
        status: 'requeuing',
      });
    });

    test('is rejected when its run or one of its rollouts exists', async ({ store }) => {
      await aTrainedRun(store);
      const archive = await collect(store.exportRun('run-1'));
      await expect(store.importRun(inChunks(archive, 999))).rejects.toMatchObject({ code: 'CONFLICT' });
      const before = await everythingOf(store);
      await store.deleteRun('run-1');
      await enqueueOne(store, { rolloutId: before.rollouts.at(-1)?.rolloutId ?? '' });
      await expect(store.importRun(inChunks(archive, 999))).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await store.queryRuns()).toMatchObject({ total: 0 });
      expect(await store.queryRollouts()).toMatchObject({ total: 1 });
    });

    test('is rejected atomically when it is truncated, modified, or another file', async ({ store }) => {
      await aTrainedRun(store);
      const archive = await collect(store.exportRun('run-1'));
      const text = unzip(archive);
      await store.deleteRun('run-1');
      const lines = text.trimEnd().split('\n');
      const broken = [
        archive.subarray(0, archive.length - 20),
        zip(lines.slice(0, -1).join('\n')),
        zip([...lines.slice(0, 3), ...lines.slice(4)].join('\n')),
        zip(text.replace('"name":"step"', '"name":"stop"')),
        zip(`${text}{"kind":"header"}\n`),
        zip(text.replace('"version":1', '"version":99')),
        zip('{"kind":"nothing we know"}\n'),
        zip(''),
        new TextEncoder().encode('this is a letter'),
        new Uint8Array(),
      ];
      for (const [index, bytes] of broken.entries()) {
        const outcome = await store.importRun(inChunks(bytes, 1000)).catch((error: unknown) => error);
        expect({ index, outcome }).toMatchObject({ index, outcome: { code: 'VALIDATION' } });
      }
      expect(await store.queryRuns()).toMatchObject({ total: 0 });
      expect(await store.queryRollouts()).toMatchObject({ total: 0 });
    });

    test('of an unknown run is NOT_FOUND', async ({ store }) => {
      await expect(collect(store.exportRun('run-unknown'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}

/** A finished run: resources, metrics, a retried rollout with spans, and a cancelled rollout. */
async function aTrainedRun(store: Store): Promise<void> {
  await store.createRun({ runId: 'run-1', name: 'näme "1"', config: { seed: 7 } });
  await store.addResources({
    model: {
      resourceType: 'llm',
      endpoint: 'http://localhost:1/v1',
      model: 'm',
      apiKey: 'sk-secret',
      samplingParameters: {},
    },
  });
  const config = { timeoutMs: 1500, maxAttempts: 3, retryCondition: ['failed'] } as const;
  const { rolloutId, attempt } = await claimOne(store, {
    runId: 'run-1',
    config,
    mode: 'train',
    metadata: { step: 1 },
  });
  await store.updateAttempt(rolloutId, 'latest', { status: 'failed', metadata: { why: 'x' } });
  const [again] = await store.claimRollouts({ workerId: 'worker-1' });
  const second = again?.attempt.attemptId ?? '';
  await store.appendSpans([
    aSpan({ rolloutId, attemptId: attempt.attemptId, sequenceId: 1, startTimeMs: 1_700_000_000_000.125 }),
    aSpan({ rolloutId, attemptId: second, sequenceId: 2, attributes: { text: 'line\nend \u0000 💡', ids: [1, 2, 3] } }),
    aSpan({ rolloutId, attemptId: second, sequenceId: 2, name: 'step' }),
  ]);
  await store.nextSpanSequenceIds([{ rolloutId, attemptId: second }]);
  await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
  const cancelled = await enqueueOne(store, { runId: 'run-1', input: null });
  await store.updateRollout(cancelled.rolloutId, { status: 'cancelled' });
  await store.updateRun('run-1', { status: 'finished', state: { step: 1 } }, [
    { runId: 'run-1', step: 1, timeMs: 1_700_000_000_001, values: { 'reward/mean': 0.5, odd: Number.NaN } },
  ]);
}

async function everythingOf(store: Store): Promise<{
  readonly run: unknown;
  readonly metrics: unknown;
  readonly rollouts: readonly { readonly rolloutId: string }[];
  readonly attempts: unknown;
  readonly spans: unknown;
}> {
  const { items: rollouts } = await store.queryRollouts({ runId: 'run-1' });
  return {
    run: await store.getRun('run-1'),
    metrics: (await store.queryMetrics('run-1')).items,
    rollouts,
    attempts: await Promise.all(rollouts.map(({ rolloutId }) => store.queryAttempts(rolloutId))),
    spans: await store.searchSpans({ runId: 'run-1' }),
  };
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of chunks) all.push(piece);
  return new Uint8Array(Buffer.concat(all));
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

function zip(text: string): Uint8Array {
  return new Uint8Array(gzipSync(text));
}

function unzip(bytes: Uint8Array): string {
  return gunzipSync(bytes).toString();
}
