import { describe, expect } from 'vitest';
import type { RolloutTrace } from '../../store/attempt.ts';
import type { Store } from '../../store/store.ts';
import { aSpan } from '../a-span.ts';
import { claimOne, enqueueOne, type StoreTest } from './store-test.ts';

/** Traces: the latest attempts of many rollouts, with their spans. */
export function describeTraces(test: StoreTest): void {
  describe('traces', () => {
    test('have the latest attempt of each rollout, and its spans in order', async ({ store }) => {
      const one = await claimOne(store);
      const [late, early] = [await spanOf(store, one, { sequenceId: 9 }), await spanOf(store, one, { sequenceId: 2 })];
      const other = await claimOne(store);
      await spanOf(store, other);
      const { attempt } = await store.startAttempt(other.rolloutId);
      const second = await spanOf(store, { rolloutId: other.rolloutId, attempt });
      const { rolloutId } = await enqueueOne(store);
      const traces = await store.readTraces([rolloutId, other.rolloutId, one.rolloutId]);
      expect(traces).toEqual([
        { rolloutId, attempt: null, spans: [] },
        { rolloutId: other.rolloutId, attempt: await store.getLatestAttempt(other.rolloutId), spans: [second] },
        { rolloutId: one.rolloutId, attempt: await store.getLatestAttempt(one.rolloutId), spans: [early, late] },
      ]);
    });

    test('are read in parts: large ones alone, small ones together', async ({ store }) => {
      const rolloutIds: string[] = [];
      for (let index = 0; index < 70; index += 1) {
        const started = await store.startRollout({ input: { index } });
        rolloutIds.push(started.rolloutId);
        const text = 'x'.repeat(index < 3 ? 700_000 : 10);
        await spanOf(store, started, { attributes: { text } });
      }
      const parts: (readonly RolloutTrace[])[] = [];
      while (parts.flat().length < rolloutIds.length) {
        parts.push(await store.readTraces(rolloutIds.slice(parts.flat().length)));
      }
      expect(parts.slice(0, 2).map((part) => part.length)).toEqual([1, 1]);
      expect(parts.length).toBeLessThan(6);
      expect(parts.flat().map((trace) => trace.rolloutId)).toEqual(rolloutIds);
      expect(parts.flat().every(({ spans }) => spans.length === 1)).toBe(true);
    });

    test('report an unknown rollout, and a wrong number of rollouts', async ({ store }) => {
      const { rolloutId } = await enqueueOne(store);
      await expect(store.readTraces([rolloutId, 'ro-none'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(store.readTraces([])).rejects.toMatchObject({ code: 'VALIDATION' });
      const tooMany = Array.from({ length: 1001 }, () => rolloutId);
      await expect(store.readTraces(tooMany)).rejects.toMatchObject({ code: 'VALIDATION' });
    });
  });
}

async function spanOf(
  store: Store,
  { rolloutId, attempt }: { readonly rolloutId: string; readonly attempt: { readonly attemptId: string } },
  changes: Parameters<typeof aSpan>[0] = {},
): Promise<unknown> {
  const { sequenceId: _, ...span } = aSpan({ rolloutId, attemptId: attempt.attemptId, ...changes });
  const [recorded] = await store.appendSpans([{ ...span, ...changes }]);
  return recorded;
}
