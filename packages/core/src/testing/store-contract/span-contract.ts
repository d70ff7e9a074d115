import { describe, expect } from 'vitest';
import { rewardAttributes } from '../../spans/reward-spans.ts';
import type { Span, SpanInput } from '../../spans/span.ts';
import { spanNames } from '../../spans/span-attributes.ts';
import type { SpanQuery } from '../../store/queries.ts';
import type { Store } from '../../store/store.ts';
import { aSpan } from '../a-span.ts';
import { claimNext, claimOne, enqueueOne, type StoreTest, statusOf } from './store-test.ts';

/** Recording, numbering and queries of spans. */
export function describeSpans(test: StoreTest): void {
  describe('spans', () => {
    test('are returned unchanged', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const span = anElaborateSpan(rolloutId, attempt.attemptId);
      const [recorded] = await store.appendSpans([span]);
      expect(recorded).toEqual({ ...span, sequenceId: 1 });
      expect(await store.querySpans({ rolloutId })).toEqual({ items: [recorded], limit: -1, offset: 0, total: 1 });
    });

    test('get sequence ids from 1 without gaps, across the attempts of a rollout', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const first = await store.appendSpans([
        unnumbered(rolloutId, attempt.attemptId),
        unnumbered(rolloutId, attempt.attemptId),
      ]);
      const second = (await store.startAttempt(rolloutId)).attempt;
      const later = await store.appendSpans([
        unnumbered(rolloutId, second.attemptId),
        unnumbered(rolloutId, attempt.attemptId),
      ]);
      expect([...first, ...later].map((span) => span?.sequenceId)).toEqual([1, 2, 3, 4]);
    });

    test('of many attempts in one batch are numbered, deduplicated and counted as heartbeats', async ({ store }) => {
      const started = [];
      for (let index = 0; index < 35; index += 1) started.push(await store.startRollout({ input: { index } }));
      const spans = started.map(({ rolloutId, attempt }) => unnumbered(rolloutId, attempt.attemptId));
      const more = started.map(({ rolloutId, attempt }) => unnumbered(rolloutId, attempt.attemptId));
      const some = spans.slice(0, 20);
      expect((await store.appendSpans(some)).map((span) => span?.sequenceId)).toEqual(some.map(() => 1));
      const again = await store.appendSpans([...spans, ...more]);
      expect(again.map((span) => span?.sequenceId ?? null)).toEqual(
        [...spans, ...more].map((_, index) => (index < 20 ? null : index < 35 ? 1 : 2)),
      );
      expect((await store.appendSpans(some)).every((span) => span === null)).toBe(true);
      for (const { rolloutId } of started) {
        expect(await statusOf(store, rolloutId)).toBe('running');
        expect((await store.querySpans({ rolloutId })).total).toBe(2);
      }
      const unknown = unnumbered('ro-none', 'at-none');
      await expect(store.appendSpans([...more, ...spans, unknown])).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    test('raise the counter with an explicit sequence id', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const spans = [
        { ...unnumbered(rolloutId, attempt.attemptId), sequenceId: 100 },
        unnumbered(rolloutId, attempt.attemptId),
      ];
      expect((await store.appendSpans(spans)).map((span) => span?.sequenceId)).toEqual([100, 101]);
      await store.appendSpans([{ ...unnumbered(rolloutId, attempt.attemptId), sequenceId: 7 }]);
      expect(await store.nextSpanSequenceIds([{ rolloutId, attemptId: attempt.attemptId }])).toEqual([102]);
    });

    test('a sequence id that would exhaust the counter is rejected', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      for (const sequenceId of [Number.MAX_SAFE_INTEGER, 2 ** 48 + 1, -1, 0.5]) {
        const spans = [{ ...unnumbered(rolloutId, attempt.attemptId), sequenceId }];
        await expect(store.appendSpans(spans)).rejects.toMatchObject({ code: 'VALIDATION' });
      }
      const largest = { ...unnumbered(rolloutId, attempt.attemptId), sequenceId: 2 ** 48 };
      const recorded = await store.appendSpans([largest, unnumbered(rolloutId, attempt.attemptId)]);
      expect(recorded.map((span) => span?.sequenceId)).toEqual([2 ** 48, 2 ** 48 + 1]);
    });

    test('have sequence ids that can be reserved for several rollouts', async ({ store }) => {
      const first = await claimOne(store);
      const second = await claimOne(store);
      const asked = [first, second, first, first].map(({ rolloutId, attempt }) => ({
        rolloutId,
        attemptId: attempt.attemptId,
      }));
      expect(await store.nextSpanSequenceIds(asked)).toEqual([1, 1, 2, 3]);
    });

    test('are deduplicated by id without consuming a sequence id', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const span = unnumbered(rolloutId, attempt.attemptId);
      const other = unnumbered(rolloutId, attempt.attemptId);
      const recorded = await store.appendSpans([span, { ...span, name: 'again' }, other]);
      expect(recorded.map((item) => item?.sequenceId ?? null)).toEqual([1, null, 2]);
      expect(await store.appendSpans([{ ...span, name: 'once more' }])).toEqual([null]);
      const { items } = await store.querySpans({ rolloutId });
      expect(items.map((item) => item.name)).toEqual(['step', 'step']);
    });

    test('can have the same id in different attempts', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const second = (await store.startAttempt(rolloutId)).attempt;
      const span = unnumbered(rolloutId, attempt.attemptId);
      const recorded = await store.appendSpans([span, { ...span, attemptId: second.attemptId }]);
      expect(recorded.map((item) => item?.sequenceId)).toEqual([1, 2]);
    });

    test('are recorded atomically', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const good = unnumbered(rolloutId, attempt.attemptId);
      for (const bad of [{ rolloutId: 'ro-unknown' }, { attemptId: 'at-unknown' }]) {
        const append = store.appendSpans([good, { ...unnumbered(rolloutId, attempt.attemptId), ...bad }]);
        await expect(append).rejects.toMatchObject({ code: 'NOT_FOUND' });
      }
      expect(await store.querySpans({ rolloutId })).toMatchObject({ total: 0 });
      expect(await statusOf(store, rolloutId)).toBe('preparing');
      expect(await store.nextSpanSequenceIds([good])).toEqual([1]);
    });

    test('with an out-of-range reward are rejected with their batch', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const good = unnumbered(rolloutId, attempt.attemptId);
      const attributes = rewardAttributes([{ name: 'primary', value: 1e300 }]);
      const reward = { ...unnumbered(rolloutId, attempt.attemptId), name: spanNames.annotation, attributes };
      await expect(store.appendSpans([good, reward])).rejects.toMatchObject({
        code: 'INVALID_REWARD',
        message: expect.stringContaining('Reward "primary" is out of range: 1e+300'),
      });
      expect(await store.querySpans({ rolloutId })).toMatchObject({ total: 0 });
    });

    test('start their attempt and are its heartbeats', async ({ store, clock }) => {
      const { rolloutId, attempt } = await claimOne(store);
      await clock.advance(300);
      await store.appendSpans([unnumbered(rolloutId, attempt.attemptId)]);
      const expected = { status: 'running', lastHeartbeatTimeMs: clock.now() };
      expect(await store.getLatestAttempt(rolloutId)).toMatchObject(expected);
      expect(await statusOf(store, rolloutId)).toBe('running');
      await clock.advance(300);
      await store.appendSpans([unnumbered(rolloutId, attempt.attemptId)]);
      expect(await store.getLatestAttempt(rolloutId)).toMatchObject({ lastHeartbeatTimeMs: clock.now() });
    });

    test('of an earlier attempt do not change the rollout', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      await claimNext(store, rolloutId);
      await store.appendSpans([unnumbered(rolloutId, attempt.attemptId)]);
      expect(await statusOf(store, rolloutId)).toBe('preparing');
    });

    test('recorded late do not reopen a finished rollout', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      expect(await store.appendSpans([unnumbered(rolloutId, attempt.attemptId)])).toMatchObject([{ sequenceId: 1 }]);
      expect(await statusOf(store, rolloutId)).toBe('succeeded');
      expect(await store.getLatestAttempt(rolloutId)).toMatchObject({ status: 'succeeded' });
    });

    test('are listed with filters, order and limits', async ({ store }) => {
      const { rolloutId, attemptIds } = await recordFour(store);
      const [first = '', second = ''] = attemptIds;
      const cases: [Omit<SpanQuery, 'rolloutId'>, string[]][] = [
        [{}, ['plan', 'call tool', 'answer', 'plan again']],
        [{ attemptId: first }, ['plan', 'call tool']],
        [{ attemptId: second }, ['answer', 'plan again']],
        [{ attemptId: 'latest' }, ['answer', 'plan again']],
        [{ attemptId: 'at-unknown' }, []],
        [{ name: 'plan' }, ['plan']],
        [{ nameContains: 'plan' }, ['plan', 'plan again']],
        [{ spanId: 'b000000000000002' }, ['call tool']],
        [{ spanIdContains: '00003' }, ['answer']],
        [{ parentId: 'b000000000000001' }, ['call tool']],
        [{ parentIdContains: 'b0' }, ['call tool']],
        [{ traceId: 'f'.repeat(32) }, ['plan again']],
        [{ traceIdContains: 'ff' }, ['plan again']],
        [{ name: 'plan', spanId: 'b000000000000003', filterLogic: 'or' }, ['plan', 'answer']],
        [{ name: 'plan', spanId: 'b000000000000003', filterLogic: 'or', attemptId: first }, ['plan']],
        [{ sortBy: 'name', sortOrder: 'desc', limit: 2 }, ['plan again', 'plan']],
        [{ sortBy: 'startTimeMs', offset: 1, limit: 2 }, ['answer', 'call tool']],
      ];
      for (const [query, names] of cases) {
        const { items } = await store.querySpans({ rolloutId, ...query });
        expect({ query, names: items.map((span) => span.name) }).toEqual({ query, names });
      }
      expect(await store.querySpans({ rolloutId: 'ro-unknown' })).toMatchObject({ items: [], total: 0 });
    });

    test('can have thousands of tokens', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const tokens = Array.from({ length: 20_000 }, (_, index) => index);
      const span = { ...unnumbered(rolloutId, attempt.attemptId), attributes: { prompt_token_ids: tokens } };
      await store.appendSpans([span]);
      expect((await store.querySpans({ rolloutId })).items[0]?.attributes).toEqual({ prompt_token_ids: tokens });
    });

    test('of an unclaimed rollout are rejected', async ({ store }) => {
      const { rolloutId } = await enqueueOne(store);
      const append = store.appendSpans([unnumbered(rolloutId, 'at-none')]);
      await expect(append).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}

function unnumbered(rolloutId: string, attemptId: string): SpanInput {
  const { sequenceId: _given, ...span } = aSpan({ rolloutId, attemptId });
  return span;
}

function anElaborateSpan(rolloutId: string, attemptId: string): Omit<Span, 'sequenceId'> {
  const { sequenceId: _given, ...span } = aSpan({
    rolloutId,
    attemptId,
    parentId: 'b000000000000001',
    status: { code: 'ERROR', message: 'it broke' },
    attributes: {
      text: 'ünï 💡',
      count: 3,
      ratio: 0.25,
      isOn: true,
      ids: [1, 2],
      names: ['a'],
      flags: [false],
      none: [],
    },
    events: [{ name: 'moment', timeMs: 1_700_000_000_123.456, attributes: { at: 1 } }],
    links: [{ traceId: 'e'.repeat(32), spanId: 'c'.repeat(16), attributes: {} }],
    startTimeMs: 1_700_000_000_000.125,
    endTimeMs: null,
    resource: { attributes: { 'service.name': 'agent' }, schemaUrl: 'https://opentelemetry.io/schemas/1.30.0' },
  });
  return span;
}

async function recordFour(
  store: Store,
): Promise<{ readonly rolloutId: string; readonly attemptIds: readonly string[] }> {
  const { rolloutId, attempt } = await claimOne(store);
  const first = attempt.attemptId;
  const second = (await store.startAttempt(rolloutId)).attempt.attemptId;
  const plan = { ...unnumbered(rolloutId, first), spanId: 'b000000000000001', name: 'plan', startTimeMs: 1000 };
  await store.appendSpans([
    plan,
    { ...plan, spanId: 'b000000000000002', name: 'call tool', parentId: plan.spanId, startTimeMs: 3000 },
    { ...plan, attemptId: second, spanId: 'b000000000000003', name: 'answer', startTimeMs: 2000 },
    {
      ...plan,
      attemptId: second,
      spanId: 'b000000000000004',
      name: 'plan again',
      traceId: 'f'.repeat(32),
      startTimeMs: 4000,
    },
  ]);
  return { rolloutId, attemptIds: [first, second] };
}
