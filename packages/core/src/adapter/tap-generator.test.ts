import { expect, test } from 'vitest';
import { tapGenerator } from './tap-generator.ts';

async function* numbers(): AsyncGenerator<number, void, undefined> {
  yield 1;
  yield 2;
  yield 3;
}

function recordingTap(events: string[]): Parameters<typeof tapGenerator<number, AsyncGenerator<number>>>[1] {
  return {
    take: (value) => events.push(String(value)),
    failed: (error) => events.push(`failed ${error}`),
    cancelled: () => events.push('cancelled'),
    ended: () => events.push('ended'),
    isHidden: (value) => value === 2,
  };
}

async function readAll(values: AsyncIterable<number>): Promise<readonly number[]> {
  const read: number[] = [];
  for await (const value of values) read.push(value);
  return read;
}

test('hidden values are reported and not returned', async () => {
  const events: string[] = [];
  expect(await readAll(tapGenerator(numbers(), recordingTap(events)))).toEqual([1, 3]);
  expect(events).toEqual(['1', '2', '3', 'ended']);
});

test('a reader that stops is reported, and ends the generator', async () => {
  const events: string[] = [];
  const inner = numbers();
  for await (const _ of tapGenerator(inner, recordingTap(events))) break;
  expect(events).toEqual(['1', 'cancelled']);
  expect(await inner.next()).toEqual({ done: true, value: undefined });
});

test('an error is reported and rethrown, and other methods are preserved', async () => {
  const events: string[] = [];
  const failing = Object.assign(
    (async function* (): AsyncGenerator<number, void, undefined> {
      yield 1;
      throw new Error('the process ended');
    })(),
    { interrupt: () => 'interrupted' },
  );
  const tapped = tapGenerator(failing, recordingTap(events));
  await expect(readAll(tapped)).rejects.toThrow('the process ended');
  expect(events).toEqual(['1', 'failed Error: the process ended']);
  expect(tapped.interrupt()).toBe('interrupted');
});
