import fc from 'fast-check';
import { expect, test } from 'vitest';
import { smallConfig } from '../../test/small-model.ts';
import { KeyValueCache } from './key-value-cache.ts';
import { PrefixCache } from './prefix-cache.ts';

const sequence = fc.array(fc.nat(2), { minLength: 1, maxLength: 8 });

function sharedLength(a: readonly number[], b: readonly number[]): number {
  const end = a.findIndex((token, index) => token !== b[index]);
  return end < 0 ? a.length : end;
}

test('finds the longest common prefix with all added sequences', () => {
  fc.assert(
    fc.property(fc.array(sequence), sequence, (known, wanted) => {
      const cache = new PrefixCache(1_000_000);
      const sources = known.map((tokens) => ({ tokens, source: new KeyValueCache(smallConfig, 1) }));
      for (const { tokens, source } of sources) cache.insert(tokens, source);
      const match = cache.find(wanted);
      const longest = Math.max(0, ...known.map((tokens) => sharedLength(wanted, tokens)));
      expect(match?.length ?? 0).toBe(longest);
      const owner = sources.find(({ source }) => source === match?.source);
      if (match) expect(owner?.tokens.slice(0, longest)).toEqual(wanted.slice(0, longest));
    }),
  );
});

test('tokens appended after the prompt count as well', () => {
  const cache = new PrefixCache(10);
  const prompts = Array.from({ length: 20 }, (_, index) => [index]);
  for (const prompt of prompts) {
    const source = new KeyValueCache(smallConfig, 1);
    cache.insert(prompt, source);
    cache.insert([...prompt, 7, 7, 7, 7], source);
  }
  const known = prompts.filter((prompt) => cache.find(prompt) !== undefined);
  expect(known).toEqual([[16], [17], [18], [19]]);
});

test('sequences unused for two generations are evicted, used ones stay', () => {
  const cache = new PrefixCache(4);
  const insert = (...tokens: number[]): void => cache.insert(tokens, new KeyValueCache(smallConfig, 1));
  insert(1, 1, 1);
  insert(2, 2, 2);
  expect(cache.find([1, 1, 1])?.length).toBe(3);
  insert(3, 3, 3);
  expect(cache.find([1, 1, 1])).toBeUndefined();
  expect(cache.find([2, 2, 9])?.length).toBe(2);
});
