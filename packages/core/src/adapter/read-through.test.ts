import { describe, expect, test } from 'vitest';
import { readThrough } from './read-through.ts';

/** A stream of counted parts that says what is done to it, and what its taps are told. */
function watched(parts: number, failure?: Error): { stream: ReadableStream<number>; told: string[] } {
  const told: string[] = [];
  let next = 0;
  const source = new ReadableStream<number>(
    {
      pull(controller) {
        if (next < parts) controller.enqueue(next++);
        else if (failure === undefined) controller.close();
        else controller.error(failure);
      },
      cancel(reason) {
        told.push(`source cancelled: ${String(reason)}`);
      },
    },
    { highWaterMark: 0 },
  );
  const stream = readThrough(source, {
    take: (part) => told.push(`took ${part}`),
    failed: (error) => told.push(`failed: ${String(error)}`),
    cancelled: () => told.push('cancelled'),
    ended: () => told.push('ended'),
  });
  return { stream, told };
}

describe('a stream that is read through', () => {
  test('gives every part, and tells of its end', async () => {
    const { stream, told } = watched(2);
    const parts: number[] = [];
    for await (const part of stream) parts.push(part);
    expect(parts).toEqual([0, 1]);
    expect(told).toEqual(['took 0', 'took 1', 'ended']);
  });

  test('reads no further than its reader, and stops the source when its reader leaves', async () => {
    const { stream, told } = watched(9);
    const reader = stream.getReader();
    await reader.read();
    expect(told).toEqual(['took 0']);
    await reader.cancel('enough');
    expect(told).toEqual(['took 0', 'cancelled', 'source cancelled: enough']);
  });

  test('fails as the source does', async () => {
    const { stream, told } = watched(1, new Error('cut'));
    const reader = stream.getReader();
    await reader.read();
    await expect(reader.read()).rejects.toThrow('cut');
    expect(told).toEqual(['took 0', 'failed: Error: cut']);
  });
});
