import { describe, expect, test } from 'vitest';
import { gatherStream } from './gathered-stream.ts';

async function listOf(parts: AsyncIterable<unknown>): Promise<unknown[]> {
  const list: unknown[] = [];
  for await (const part of parts) list.push(part);
  return list;
}

/** A result with a stream of two parts, and what a tap is told of it. */
function aGatheredResult(): { readonly stream: ReadableStream<unknown>; readonly told: unknown[] } {
  const told: unknown[] = [];
  const stream = ReadableStream.from<unknown>(['one', 'two']);
  gatherStream({ stream }, () => ({
    take: (part) => told.push(part),
    failed: (error) => told.push(error),
    cancelled: () => told.push('cancelled'),
    ended: () => told.push('ended'),
  }));
  return { stream, told };
}

describe('gatherStream', () => {
  test.each<[string, (stream: ReadableStream<unknown>) => Promise<unknown>]>([
    ['piped through a transform', (stream) => listOf(stream.pipeThrough(new TransformStream()))],
    ['piped to a sink', (stream) => stream.pipeTo(new WritableStream())],
    ['iterated over', (stream) => listOf(stream)],
    ['split in two', (stream) => Promise.all(stream.tee().map(listOf))],
  ])('looks at a stream that is %s', async (_, read) => {
    const { stream, told } = aGatheredResult();
    await read(stream);
    expect(told).toEqual(['one', 'two', 'ended']);
    expect(stream.locked).toBe(true);
  });

  test('looks at a stream that is read part by part, and left', async () => {
    const { stream, told } = aGatheredResult();
    const reader = stream.getReader();
    expect(await reader.read()).toEqual({ done: false, value: 'one' });
    await reader.cancel();
    expect(told).toEqual(['one', 'cancelled']);
  });

  test('hears that a stream is left before it is read', async () => {
    const { stream, told } = aGatheredResult();
    await stream.cancel();
    expect(told).toEqual(['cancelled']);
  });

  test('leaves alone what is no stream, or read already', () => {
    const stream = ReadableStream.from(['one']);
    stream.getReader();
    const tap = (): never => {
      throw new Error('asked for a tap');
    };
    expect(gatherStream({ stream }, tap)).toBe(true);
    expect(gatherStream({ stream: 'no stream' }, tap)).toBe(true);
    expect([gatherStream({}, tap), gatherStream(undefined, tap)]).toEqual([false, false]);
  });
});
