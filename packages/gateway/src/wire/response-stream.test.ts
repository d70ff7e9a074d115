import { describe, expect, it } from 'vitest';
import { ResponseStream } from './response-stream.ts';

function opened(): { stream: ResponseStream; call: AbortController; cancelled: string[]; log: string[] } {
  const call = new AbortController();
  const cancelled: string[] = [];
  const stream = new ResponseStream(call.signal, () => cancelled.push('cancelled'));
  return { stream, call, cancelled, log: [] };
}

/** Lets pending promises settle. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('ResponseStream', () => {
  it('accepts a chunk only when the reader requests it', async () => {
    const { stream, log } = opened();
    const writing = (async () => {
      for (const chunk of ['a', 'b', 'c']) {
        log.push(`send ${chunk}`);
        await stream.send(chunk);
      }
      stream.end('d');
    })();
    await settle();
    expect(log).toEqual(['send a']);
    const reader = stream.readable.getReader();
    await reader.read();
    await settle();
    // The first chunk was buffered; only the request for the second one resumes the writer.
    expect(log).toEqual(['send a']);
    await reader.read();
    expect(log).toEqual(['send a', 'send b']);
    const rest: string[] = [];
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      rest.push(new TextDecoder().decode(next.value));
    }
    await writing;
    expect(rest).toEqual(['c', 'd']);
  });

  it('does not wait for a reader that stalls once the call is aborted', async () => {
    const { stream, call } = opened();
    const sending = stream.send('a');
    call.abort();
    await sending;
    await stream.send('b');
    stream.end('error');
    expect(await new Response(stream.readable).text()).toBe('aberror');
  });

  it('drops chunks after the reader has cancelled', async () => {
    const { stream, cancelled } = opened();
    const sending = stream.send('a');
    await stream.readable.cancel();
    await sending;
    await stream.send('b');
    stream.end('c');
    expect(cancelled).toEqual(['cancelled']);
  });
});
