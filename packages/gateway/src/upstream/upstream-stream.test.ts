import { describe, expect, it } from 'vitest';
import { UpstreamStream } from './upstream-stream.ts';

function tapped(): { readonly stream: UpstreamStream; readonly told: string[] } {
  const told: string[] = [];
  const stream = new UpstreamStream({
    pause: () => told.push('pause'),
    resume: () => told.push('resume'),
    abort: (reason) => told.push(`abort: ${reason.message}`),
  });
  stream.onOver = () => told.push('over');
  return { stream, told };
}

describe('the stream of an upstream', () => {
  it('takes no more from the connection than is read, and goes on when it is', async () => {
    const { stream, told } = tapped();
    for (let part = 0; part < 3; part += 1) stream.push(new Uint8Array(32_000));
    expect(told).toEqual(['pause']);
    await stream.read();
    expect(told).toEqual(['pause']);
    await stream.read();
    expect(told).toEqual(['pause', 'resume']);
  });

  it('gives bytes to a reader that waits for them, and its end to one that comes late', async () => {
    const { stream, told } = tapped();
    const first = stream.read();
    stream.push(new Uint8Array([1]));
    stream.push(new Uint8Array([2]));
    stream.end();
    expect(await first).toEqual(new Uint8Array([1]));
    expect(await stream.read()).toEqual(new Uint8Array([2]));
    expect(await stream.read()).toBeNull();
    expect(told).toEqual(['over']);
  });

  it('gives what came before it broke, then says so', async () => {
    const { stream, told } = tapped();
    stream.push(new Uint8Array([1]));
    stream.fail(new Error('the connection broke'));
    expect(await stream.read()).toEqual(new Uint8Array([1]));
    await expect(stream.read()).rejects.toThrow('the connection broke');
    expect(told).toEqual(['over']);
  });

  it('ends the request once when nobody reads on, and is over at once', async () => {
    const { stream, told } = tapped();
    const waiting = stream.read();
    stream.cancel(new Error('the reader has gone'));
    stream.cancel();
    stream.push(new Uint8Array([1]));
    await expect(waiting).rejects.toThrow('the reader has gone');
    expect(told).toEqual(['over', 'abort: the reader has gone']);
  });
});
