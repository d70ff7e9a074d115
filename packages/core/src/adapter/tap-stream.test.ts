import { describe, expect, test } from 'vitest';
import { tapResponse, tapStream } from './tap-stream.ts';

/** A stream of numbered chunks that logs operations on it and tap events. */
function watched(parts: number, failure?: Error): { stream: ReadableStream<number>; events: string[] } {
  const events: string[] = [];
  let next = 0;
  const source = new ReadableStream<number>(
    {
      pull(controller) {
        if (next < parts) controller.enqueue(next++);
        else if (failure === undefined) controller.close();
        else controller.error(failure);
      },
      cancel(reason) {
        events.push(`source cancelled: ${String(reason)}`);
      },
    },
    { highWaterMark: 0 },
  );
  const stream = tapStream(source, {
    take: (part) => events.push(`took ${part}`),
    failed: (error) => events.push(`failed: ${String(error)}`),
    cancelled: () => events.push('cancelled'),
    ended: () => events.push('ended'),
  });
  return { stream, events };
}

describe('tapped stream', () => {
  test('forwards every chunk and reports the end', async () => {
    const { stream, events } = watched(2);
    const parts: number[] = [];
    for await (const part of stream) parts.push(part);
    expect(parts).toEqual([0, 1]);
    expect(events).toEqual(['took 0', 'took 1', 'ended']);
  });

  test('reads no further than its reader, and cancels the source when its reader cancels', async () => {
    const { stream, events } = watched(9);
    const reader = stream.getReader();
    await reader.read();
    expect(events).toEqual(['took 0']);
    await reader.cancel('enough');
    expect(events).toEqual(['took 0', 'cancelled', 'source cancelled: enough']);
  });

  test('propagates the error of the source', async () => {
    const { stream, events } = watched(1, new Error('cut'));
    const reader = stream.getReader();
    await reader.read();
    await expect(reader.read()).rejects.toThrow('cut');
    expect(events).toEqual(['took 0', 'failed: Error: cut']);
  });
});

describe('tapped response', () => {
  test('keeps status, headers and URL', async () => {
    const taken: number[] = [];
    const ignore = (): void => {};
    const response = await fetch('data:text/plain,answer');
    const { url } = response;
    const same = tapResponse(response, {
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

  test('without a body is unchanged', () => {
    const response = new Response(null, { status: 204 });
    const ignore = (): void => {};
    expect(tapResponse(response, { take: ignore, failed: ignore, cancelled: ignore, ended: ignore })).toBe(response);
  });
});
