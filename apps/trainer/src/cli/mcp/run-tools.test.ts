import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isMatch } from './run-tools.ts';

test('a pattern matches as a regular expression with .* does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 }), text, (name, pattern) => {
      const expected = new RegExp(`^${pattern.split(/\*+/).join('.*')}$`).test(name);
      expect(isMatch(name, pattern.split(/\*+/))).toBe(expected);
    }),
    { numRuns: 5000 },
  );
});

test('a pattern with many wildcards takes linear time', () => {
  expect(isMatch('a'.repeat(100_000), [...'a'.repeat(5000), 'b'])).toBe(false);
});
