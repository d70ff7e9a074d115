import { describe, expect, test } from 'vitest';
import { observeStream } from './observe-stream.ts';

async function listOf(parts: AsyncIterable<unknown>): Promise<unknown[]> {
  const list: unknown[] = [];
  for await (const part of parts) list.push(part);
  return list;
}

/** A result with a stream of two parts, and the events that its tap receives. */
function createObservedResult(): { readonly stream: ReadableStream<unknown>; readonly events: unknown[] } {
  const events: unknown[] = [];
  const stream = ReadableStream.from<unknown>(['one', 'two']);
  observeStream({ stream }, () => ({
    take: (part) => events.push(part),
    failed: (error) => events.push(error),
    cancelled: () => events.push('cancelled'),
    ended: () => events.push('ended'),
  }));
  return { stream, events };
}

describe('observeStream', () => {
  test.each<[string, (stream: ReadableStream<unknown>) => Promise<unknown>]>([
    ['piped through a transform', (stream) => listOf(stream.pipeThrough(new TransformStream()))],
    ['piped to a sink', (stream) => stream.pipeTo(new WritableStream())],
    ['iterated over', (stream) => listOf(stream)],
    ['split in two', (stream) => Promise.all(stream.tee().map(listOf))],
  ])('observes a stream that is %s', async (_, read) => {
    const { stream, events } = createObservedResult();
    await read(stream);
    expect(events).toEqual(['one', 'two', 'ended']);
    expect(stream.locked).toBe(true);
  });

  test('observes a stream that is read part by part and cancelled', async () => {
    const { stream, events } = createObservedResult();
    const reader = stream.getReader();
    expect(await reader.read()).toEqual({ done: false, value: 'one' });
    await reader.cancel();
    expect(events).toEqual(['one', 'cancelled']);
  });

  test('observes a stream that is cancelled before it is read', async () => {
    const { stream, events } = createObservedResult();
    await stream.cancel();
    expect(events).toEqual(['cancelled']);
  });

  test('ignores non-streams and locked streams', () => {
    const stream = ReadableStream.from(['one']);
    stream.getReader();
    const tap = (): never => {
      throw new Error('asked for a tap');
    };
    expect(observeStream({ stream }, tap)).toBe(true);
    expect(observeStream({ stream: 'no stream' }, tap)).toBe(true);
    expect([observeStream({}, tap), observeStream(undefined, tap)]).toEqual([false, false]);
  });
});
