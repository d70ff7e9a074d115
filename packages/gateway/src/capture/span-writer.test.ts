import { setImmediate } from 'node:timers/promises';
import { AgentLightningError, type Clock, type Span, type SpanInput, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { aSpan } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { describe, expect, it } from 'vitest';
import { storeWith } from '../../test/gateway-fixture.ts';
import { SpanWriter } from './span-writer.ts';

/** A clock whose sleeps end at once, and their requested durations. */
function impatientClock(): Clock & { readonly sleeps: number[] } {
  const sleeps: number[] = [];
  return {
    sleeps,
    now: systemClock.now,
    sleep: async (ms) => {
      sleeps.push(ms);
    },
  };
}

/** A writer to a real store with a wrapped `appendSpans`. */
async function startWriter(
  before: (spans: readonly SpanInput[]) => unknown,
  maxBatches = 1,
): Promise<{
  store: Store;
  writer: SpanWriter;
  errors: object[];
  clock: ReturnType<typeof impatientClock>;
  span: (name: string) => Span;
}> {
  const inner = await openStore(':memory:');
  const { rolloutId, attempt } = await inner.startRollout({ input: 1 });
  const store = storeWith(inner, {
    appendSpans: async (spans) => {
      await before(spans);
      return await inner.appendSpans(spans);
    },
  });
  const clock = impatientClock();
  const errors: object[] = [];
  const log = { warn: () => undefined, error: (details: object) => void errors.push(details) };
  let count = 0;
  const span = (name: string): Span => {
    count += 1;
    const spanId = String(count).padStart(16, '0');
    return { ...aSpan({ rolloutId, attemptId: attempt.attemptId, spanId, name }), sequenceId: count };
  };
  return { store, writer: new SpanWriter({ store, clock, log, maxBatches }), errors, clock, span };
}

const gone = new AgentLightningError({ code: 'UNREACHABLE', message: 'the store is gone' });
const bad = new AgentLightningError({ code: 'VALIDATION', message: 'the span is bad' });

describe('SpanWriter', () => {
  it('writes the first span at once, and those that arrive meanwhile in one transaction', async () => {
    const sizes: number[] = [];
    const { writer, span, store } = await startWriter((spans) => void sizes.push(spans.length));
    await Promise.all(Array.from({ length: 15 }, () => writer.write(span('call'))));
    expect(sizes).toEqual([1, 14]);
    expect((await store.statistics()).totalSpans).toBe(15);
  });

  it('starts a transaction for a large burst before all of it has arrived', async () => {
    const sizes: number[] = [];
    const { writer, span, store } = await startWriter((spans) => void sizes.push(spans.length), 2);
    const written = Array.from({ length: 50 }, () => writer.write(span('call')));
    expect(sizes).toEqual([1, 16]);
    await Promise.all(written);
    expect(sizes).toEqual([1, 16, 33]);
    expect((await store.statistics()).totalSpans).toBe(50);
  });

  it('starts further batches while others are in flight, up to the limit', async () => {
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const begun: string[][] = [];
    const { writer, span, store } = await startWriter((spans) => {
      begun.push(spans.map(({ name }) => name));
      return opened;
    }, 2);
    const written: Promise<void>[] = [];
    for (const name of ['first', 'second', 'third', 'fourth']) {
      written.push(writer.write(span(name)));
      // More event loop turns than the writer waits.
      for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    }
    expect(begun).toEqual([['first'], ['second']]);
    open();
    await Promise.all(written);
    expect(begun).toEqual([['first'], ['second'], ['third', 'fourth']]);
    expect((await store.statistics()).totalSpans).toBe(4);
  });

  it('isolates an invalid span from the rest of its batch', async () => {
    const { writer, span, store } = await startWriter((spans) => {
      if (spans.some(({ name }) => name === 'bad')) throw bad;
    });
    const outcomes = await Promise.allSettled(['good', 'bad', 'good'].map((name) => writer.write(span(name))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((await store.statistics()).totalSpans).toBe(2);
  });

  it('does not retry spans one by one when the store fails', async () => {
    let tries = 0;
    const { writer, span } = await startWriter(() => {
      tries += 1;
      throw gone;
    });
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((name) => writer.write(span(name))));
    expect(outcomes).toMatchObject([{ reason: gone }, { reason: gone }, { reason: gone }]);
    // The first, and the two that arrived meanwhile.
    expect(tries).toBe(2);
  });

  it('retries in the background until the store is back', async () => {
    let failures = 3;
    const { writer, span, store, clock } = await startWriter(() => {
      failures -= 1;
      if (failures >= 0) throw gone;
    });
    writer.writeInBackground(span('call'));
    await writer.flush();
    expect(clock.sleeps).toEqual([100, 200, 400]);
    expect((await store.statistics()).totalSpans).toBe(1);
  });

  it('logs a lost span', async () => {
    const { writer, span, errors } = await startWriter(() => {
      throw gone;
    });
    const lost = span('call');
    writer.writeInBackground(lost);
    await writer.flush();
    expect(errors).toMatchObject([{ spanId: lost.spanId, err: gone }]);
  });
});
