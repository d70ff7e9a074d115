import { expect, test } from 'vitest';
import { AgentLightningError, NotFoundError } from '../base/agent-lightning-error.ts';
import type { Span, SpanInput } from '../spans/span.ts';
import { aSpan } from '../testing/a-span.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { type SpanSinkFailure, StoreSpanSink } from './store-span-sink.ts';

/** A store that records batches, and rejects them on request. */
class Batches {
  readonly batches: string[][] = [];
  refuse: (spans: readonly SpanInput[]) => unknown = () => null;

  async appendSpans(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    await Promise.resolve();
    const error = this.refuse(spans);
    if (error !== null) throw error;
    this.batches.push(spans.map((span) => span.name));
    return spans.map(() => null);
  }
}

const unreachable = new AgentLightningError({ code: 'UNREACHABLE', message: 'no store' });

function spansNamed(...names: string[]): readonly Span[] {
  return names.map((name) => aSpan({ name }));
}

test('spans appended at about the same time share a write', async () => {
  const store = new Batches();
  const clock = new ManualClock();
  const sink = new StoreSpanSink(store, { clock, delayMs: 10 });
  for (const span of spansNamed('a', 'b')) sink.append(span);
  await clock.advance(9);
  expect(store.batches).toEqual([]);
  sink.append(aSpan({ name: 'c' }));
  await clock.advance(1);
  expect(store.batches).toEqual([['a', 'b', 'c']]);
  sink.append(aSpan({ name: 'd' }));
  await clock.advance(10);
  expect(store.batches).toEqual([['a', 'b', 'c'], ['d']]);
  expect(sink.counts).toEqual({ stored: 4, lost: 0, waiting: 0 });
});

test('a flush skips the batch delay, and resolves when all earlier spans are stored', async () => {
  const store = new Batches();
  const sink = new StoreSpanSink(store, { clock: new ManualClock(), delayMs: 1000 });
  sink.append(aSpan({ name: 'a' }));
  await sink.flush();
  expect(store.batches).toEqual([['a']]);
  await sink.flush();
  sink.append(aSpan({ name: 'b' }));
  await sink.flush();
  expect(store.batches).toEqual([['a'], ['b']]);
});

test('a full batch skips the batch delay, and long queues are written in order', async () => {
  const store = new Batches();
  const sink = new StoreSpanSink(store, { clock: new ManualClock(), delayMs: 1000, maxBatchSpans: 3 });
  for (const span of spansNamed('a', 'b', 'c', 'd', 'e', 'f', 'g')) sink.append(span);
  await new Promise((resolve) => setImmediate(resolve));
  expect(store.batches).toEqual([['a', 'b', 'c'], ['d', 'e', 'f'], ['g']]);
});

test('writes to an unreachable store are retried with exponential backoff', async () => {
  const store = new Batches();
  const clock = new ManualClock();
  const failures: SpanSinkFailure[] = [];
  const sink = new StoreSpanSink(store, { clock, delayMs: 0, retryDelayMs: 100, onError: (f) => failures.push(f) });
  let refusals = 2;
  store.refuse = () => {
    refusals -= 1;
    return refusals >= 0 ? unreachable : null;
  };
  sink.append(aSpan({ name: 'a' }));
  await clock.advance(299);
  expect(store.batches).toEqual([]);
  await clock.advance(1);
  expect(store.batches).toEqual([['a']]);
  expect(failures.map((failure) => failure.isRetried)).toEqual([true, true]);
  expect(sink.counts).toEqual({ stored: 1, lost: 0, waiting: 0 });
});

test('spans are dropped after the last retry, counted and reported, and later ones are written', async () => {
  const store = new Batches();
  const clock = new ManualClock();
  const failures: SpanSinkFailure[] = [];
  const sink = new StoreSpanSink(store, { clock, delayMs: 0, maxTries: 2, onError: (f) => failures.push(f) });
  store.refuse = () => unreachable;
  for (const span of spansNamed('a', 'b')) sink.append(span);
  const flushed = sink.flush();
  await clock.advance(100);
  await flushed;
  expect(failures.at(-1)).toMatchObject({
    error: unreachable,
    isRetried: false,
    spans: [{ name: 'a' }, { name: 'b' }],
  });
  expect(sink.counts).toEqual({ stored: 0, lost: 2, waiting: 0 });
  store.refuse = () => null;
  sink.append(aSpan({ name: 'c' }));
  await sink.flush();
  expect(store.batches).toEqual([['c']]);
});

test('one rejected span does not affect the others', async () => {
  const store = new Batches();
  const failures: SpanSinkFailure[] = [];
  const sink = new StoreSpanSink(store, { clock: new ManualClock(), onError: (f) => failures.push(f) });
  store.refuse = (spans) => (spans.some((span) => span.name === 'bad') ? new NotFoundError('Rollout', 'ro-x') : null);
  for (const span of spansNamed('a', 'b', 'bad', 'c', 'd')) sink.append(span);
  await sink.flush();
  expect(store.batches.flat()).toEqual(['a', 'b', 'c', 'd']);
  expect(failures).toHaveLength(1);
  expect(failures[0]).toMatchObject({ isRetried: false, spans: [{ name: 'bad' }], error: { code: 'NOT_FOUND' } });
  expect(sink.counts).toEqual({ stored: 4, lost: 1, waiting: 0 });
});

test('memory is bounded by number and size', async () => {
  const store = new Batches();
  const lost: unknown[] = [];
  const options = { clock: new ManualClock(), onError: (failure: SpanSinkFailure) => lost.push(failure.error) };
  const few = new StoreSpanSink(store, { ...options, maxWaitingSpans: 2 });
  for (const span of spansNamed('a', 'b', 'c')) few.append(span);
  expect(few.counts).toEqual({ stored: 0, lost: 1, waiting: 2 });
  expect(lost[0]).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  const small = new StoreSpanSink(store, { ...options, maxWaitingBytes: 10_000 });
  small.append(aSpan({ attributes: { large: 'x'.repeat(20_000) } }));
  small.append(aSpan());
  expect(small.counts).toEqual({ stored: 0, lost: 1, waiting: 1 });
  await Promise.all([few.flush(), small.flush()]);
  expect(few.counts.stored + small.counts.stored).toBe(3);
});

test('a throwing callback does not stop writes', async () => {
  const store = new Batches();
  const sink = new StoreSpanSink(store, {
    clock: new ManualClock(),
    onError: () => {
      throw new TypeError('the logger is broken');
    },
  });
  store.refuse = (spans) => (spans[0]?.name === 'bad' ? new NotFoundError('Rollout', 'ro-x') : null);
  sink.append(aSpan({ name: 'bad' }));
  await sink.flush();
  sink.append(aSpan({ name: 'good' }));
  await sink.flush();
  expect(store.batches).toEqual([['good']]);
});

test('a flush does not wait for later spans', async () => {
  let sink: StoreSpanSink | null = null;
  let writes = 0;
  // Other rollouts record continuously: every write adds another span.
  sink = new StoreSpanSink({
    appendSpans: async (spans) => {
      writes += 1;
      if (writes < 1000) sink?.append(aSpan({ name: 'of another rollout' }));
      await new Promise((resolve) => setImmediate(resolve));
      return spans.map(() => null);
    },
  });
  sink.append(aSpan({ name: 'ours' }));
  await sink.flush();
  expect(writes).toBeLessThan(5);
  expect(sink.counts.stored).toBeGreaterThan(0);
});
