import { describe, expect, it } from 'vitest';
import { BufferPool } from './buffer-pool.ts';

const mebibyte = 1024 * 1024;

describe('memory for batches', () => {
  it('is used again when it is large enough, the smallest first', () => {
    const pool = new BufferPool();
    const [small, large] = [pool.take(100), pool.take(1_000)];
    pool.give(small);
    pool.give(large);
    expect(pool.take(50)).toBe(small);
    expect(pool.take(50)).toBe(large);
    expect(pool.take(50)).not.toBe(small);
  });

  it('is never given to two', () => {
    const pool = new BufferPool();
    pool.give(pool.take(10));
    expect(pool.take(10)).not.toBe(pool.take(10));
  });

  it('is kept only so much, the latest', () => {
    const pool = new BufferPool();
    const buffers = Array.from({ length: 5 }, () => pool.take(8 * mebibyte));
    for (const buffer of buffers) pool.give(buffer);
    const taken = Array.from({ length: 4 }, () => pool.take(mebibyte));
    expect(taken).not.toContain(buffers[0]);
    expect(new Set(taken)).toEqual(new Set(buffers.slice(1)));
    pool.give(pool.take(64 * mebibyte));
    expect(pool.take(64 * mebibyte).byteLength).toBe(64 * mebibyte);
  });
});
