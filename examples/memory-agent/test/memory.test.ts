import { expect, test } from 'vitest';
import { Memory } from '../memory.ts';

test('a full memory loses its oldest entry; a repeated key is the newest and has its last value', () => {
  const memory = new Memory(2);
  memory.file('a', 1);
  memory.file('b', 2);
  memory.file('a', 3);
  memory.file('c', 4);
  expect(memory.keys).toEqual(['a', 'c']);
  expect([memory.recall('a'), memory.recall('b'), memory.recall('c')]).toEqual([3, undefined, 4]);
});
