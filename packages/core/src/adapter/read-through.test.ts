import { describe, expect, test } from 'vitest';
import { readThrough, readThroughResponse } from './read-through.ts';

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

describe('a response that is read through', () => {
  test('is the same to its reader, with its status, headers and address', async () => {
    const taken: number[] = [];
    const ignore = (): void => {};
    const response = await fetch('data:text/plain,answer');
    const { url } = response;
    const same = readThroughResponse(response, {
      take: (bytes) => taken.push(bytes.length),
      failed: ignore,
      cancelled: ignore,
      ended: () => taken.push(-1),
    });
    expect([same.status, same.url, same.headers.get('content-type')]).toEqual([200, url, 'text/plain']);
    const copy = same.clone();
    expect([copy.url, copy.clone().url, copy.type]).toEqual([url, url, response.type]);
    expect(await copy.text()).toBe('answer');
    expect(await same.text()).toBe('answer');
    expect(taken).toEqual([6, -1]);
  });

  test('without a body is left as it is', () => {
    const response = new Response(null, { status: 204 });
    const ignore = (): void => {};
    expect(readThroughResponse(response, { take: ignore, failed: ignore, cancelled: ignore, ended: ignore })).toBe(
      response,
    );
  });
});
