import { afterEach, describe, expect, it } from 'vitest';
import { HashThread } from './hash-thread.ts';
import { sha256 } from './sha256.ts';

const threads: HashThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close();
});

function aThread(program?: URL): HashThread {
  const thread = new HashThread(program);
  threads.push(thread);
  return thread;
}

/** A million and a half of bytes and more, each of another content and length. */
function much(content: number): Uint8Array {
  return new Uint8Array(1_500_000 + content).fill(content);
}

describe('hashes of much', () => {
  it('are those of the bytes, whoever asks meanwhile', async () => {
    const thread = aThread();
    for (const contents of [[1, 2, 3], [4], [3]]) {
      const batches = contents.map(much);
      const expected = batches.map((bytes) => Buffer.from(sha256(bytes)));
      const hashing = batches.map((bytes) => thread.sha256(bytes));
      // What was given may be used again at once.
      for (const bytes of batches) bytes.fill(0);
      expect((await Promise.all(hashing)).map((hash) => Buffer.from(hash))).toEqual(expected);
    }
  });

  it('are computed by the thread that asks where there is no other', async () => {
    const thread = aThread(new URL('./no-such-program.js', import.meta.url));
    const [one, other] = [much(1), much(2)];
    const hashes = await Promise.all([thread.sha256(one), thread.sha256(other)]);
    expect(hashes.map((hash) => Buffer.from(hash))).toEqual([one, other].map((bytes) => Buffer.from(sha256(bytes))));
    expect(await thread.sha256(one)).toEqual(hashes[0]);
  });

  it('are given also when the thread is ended before it has answered', async () => {
    const thread = aThread();
    const hashing = thread.sha256(much(5));
    await thread.close();
    expect(Buffer.from(await hashing)).toEqual(Buffer.from(sha256(much(5))));
  });

  it('of little need no thread', async () => {
    const thread = aThread(new URL('./no-such-program.js', import.meta.url));
    const bytes = much(3).subarray(0, 100);
    expect(Buffer.from(await thread.sha256(bytes))).toEqual(Buffer.from(sha256(bytes)));
  });
});
