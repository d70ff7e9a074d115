import { expect, test } from 'vitest';
import { isAsyncIterable, iterateWithin, tapIterable, type Within } from './iterate-within.ts';

/** Counts the executions of `within`. */
function counted(): { readonly within: Within; readonly runs: () => number } {
  let runs = 0;
  return {
    within: (run) => {
      runs += 1;
      return run();
    },
    runs: () => runs,
  };
}

test('every step of a generator, including its end, runs in the context', async () => {
  const { within, runs } = counted();
  async function* numbers(): AsyncGenerator<number> {
    yield runs();
    yield runs();
  }
  const seen: number[] = [];
  for await (const value of iterateWithin(numbers(), within)) seen.push(value);
  expect(seen).toEqual([1, 2]);
  expect(runs()).toBe(3);
});

test('cleanup of an abandoned generator runs in the context', async () => {
  const { within, runs } = counted();
  let cleanedUpIn = 0;
  async function* forever(): AsyncGenerator<number> {
    try {
      for (;;) yield 1;
    } finally {
      cleanedUpIn = runs();
    }
  }
  for await (const value of iterateWithin(forever(), within)) if (value === 1) break;
  expect(cleanedUpIn).toBe(2);
});

test('an iterator without return is not advanced further', async () => {
  const { within } = counted();
  const once: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: false, value: 7 }) }),
  };
  for await (const value of iterateWithin(once, within)) {
    expect(value).toBe(7);
    break;
  }
});

test('an observed iterable reports each value before it is returned', async () => {
  const events: string[] = [];
  async function* numbers(): AsyncGenerator<number> {
    yield 1;
    yield 2;
  }
  for await (const value of tapIterable(numbers(), (taken) => events.push(`taken ${taken}`))) {
    events.push(`read ${value}`);
  }
  expect(events).toEqual(['taken 1', 'read 1', 'taken 2', 'read 2']);
  expect([isAsyncIterable(numbers()), isAsyncIterable([1]), isAsyncIterable(null)]).toEqual([true, false, false]);
});
