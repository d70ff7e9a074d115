import { describe, expect } from 'vitest';
import { aSpan } from '../a-span.ts';
import { claimOne, type StoreTest } from './store-test.ts';

const refusedIds: readonly string[] = ['', '..', '../runs', 'a/b', 'a\0b', 'a\nb', ' a', '-a', 'ä', 'a'.repeat(10_000)];
const acceptedIds: readonly string[] = [
  'ro-0123456789ab',
  'Worker-0',
  'gpu-17.example.org:8080',
  'user@host_1',
  '123e4567-e89b-12d3-a456-426614174000',
  'a'.repeat(128),
];

/** Ids that callers choose: what every store accepts and refuses. */
export function describeIds(test: StoreTest): void {
  describe('ids', () => {
    test('that are not ids are refused wherever a caller gives one, and nothing is written', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const span = aSpan({ rolloutId, attemptId: attempt.attemptId });
      const before = await store.statistics();
      for (const id of refusedIds) {
        const writes = [
          () => store.enqueueRollouts([{ input: 1, rolloutId: id }]),
          () => store.enqueueRollouts([{ input: 1, resourcesId: id }]),
          () => store.enqueueRollouts([{ input: 1, runId: id }]),
          () => store.startRollout({ input: 1, workerId: id }),
          () => store.claimRollouts({ workerId: id }),
          () => store.startAttempt(rolloutId, id),
          // An empty id clears that of an attempt.
          () => store.updateAttempt(rolloutId, attempt.attemptId, { workerId: id === '' ? '/' : id }),
          () => store.updateRollout(rolloutId, { resourcesId: id }),
          () => store.updateWorker(id),
          () => store.updateResources(id, {}),
          () => store.createRun({ runId: id, name: 'run', config: {} }),
          () => store.appendSpans([{ ...span, rolloutId: id }]),
          () => store.appendSpans([{ ...span, attemptId: id }]),
          () => store.appendSpans([{ ...span, spanId: id }]),
          () => store.appendSpans([{ ...span, traceId: id }]),
          () => store.appendSpans([{ ...span, parentId: id }]),
        ];
        for (const write of writes) {
          const error: unknown = await write().catch((reason: unknown) => reason);
          expect([write.toString(), id.slice(0, 10), error]).toMatchObject([
            expect.any(String),
            expect.any(String),
            { code: 'VALIDATION' },
          ]);
        }
      }
      expect(await store.statistics()).toEqual(before);
    });

    test('are refused with the field, the shortened id and what an id is', async ({ store }) => {
      const error: unknown = await store.updateWorker('/'.repeat(10_000)).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: 'VALIDATION',
        message: expect.stringMatching(/^.{0,20}Id is not valid: workerId: "\/{40}…" is not an id\. Use 1 to 128 /),
      });
    });

    test('of the protocol and of hosts are accepted', async ({ store }) => {
      for (const id of acceptedIds) {
        await store.updateResources(id, {});
        await store.createRun({ runId: id, name: 'run', config: {} });
        const request = { input: 1, rolloutId: id, runId: id, resourcesId: id, workerId: id };
        const { attempt } = await store.startRollout(request);
        await store.appendSpans([aSpan({ rolloutId: id, attemptId: attempt.attemptId, spanId: id, traceId: id })]);
        expect(await store.getRollout(id)).toMatchObject({ runId: id, resourcesId: id, attempt: { workerId: id } });
        expect((await store.getWorker(id))?.workerId).toBe(id);
        expect((await store.querySpans({ rolloutId: id })).items).toMatchObject([{ spanId: id, traceId: id }]);
      }
    });
  });
}
