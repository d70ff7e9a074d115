import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rankFor, seedOf } from './rendezvous.ts';

interface Named {
  readonly name: string;
  readonly seed: number;
}

const named = (name: string): Named => ({ name, seed: seedOf(name) });
const first = (key: string, candidates: readonly Named[]): string | undefined => rankFor(key, candidates)[0]?.name;
const keys = Array.from({ length: 2000 }, (_, index) => `ro-${index}`);
const names = fc.uniqueArray(fc.webUrl(), { minLength: 2, maxLength: 12 });

describe('rankFor', () => {
  it('does not depend on the order of the candidates', () => {
    fc.assert(
      fc.property(names, fc.string(), (urls, key) => {
        const candidates = urls.map(named);
        expect(rankFor(key, [...candidates].reverse())).toEqual(rankFor(key, candidates));
      }),
    );
  });

  it('moves only the keys of a removed candidate, about one in n', () => {
    fc.assert(
      fc.property(names, fc.nat(), (urls, pick) => {
        const candidates = urls.map(named);
        const gone = candidates[pick % candidates.length];
        const rest = candidates.filter((candidate) => candidate !== gone);
        const moved = keys.filter((key) => first(key, candidates) !== first(key, rest));
        expect(moved.every((key) => first(key, candidates) === gone?.name)).toBe(true);
        const share = keys.length / candidates.length;
        // Five standard deviations of a uniform choice.
        const slack = 5 * Math.sqrt(share);
        expect(Math.abs(moved.length - share)).toBeLessThan(slack);
      }),
      { numRuns: 30 },
    );
  });

  it('moves keys only to an added candidate', () => {
    fc.assert(
      fc.property(names, fc.webUrl(), (urls, url) => {
        const candidates = urls.filter((known) => known !== url).map(named);
        const more = [...candidates, named(url)];
        for (const key of keys.slice(0, 200)) {
          const chosen = first(key, more);
          expect(chosen === first(key, candidates) || chosen === url).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('distributes the keys of a removed candidate over all the others', () => {
    const candidates = ['a', 'b', 'c', 'd'].map(named);
    const seconds = keys
      .filter((key) => first(key, candidates) === 'a')
      .map((key) => rankFor(key, candidates)[1]?.name);
    for (const name of ['b', 'c', 'd']) {
      expect(seconds.filter((second) => second === name).length).toBeGreaterThan(seconds.length / 5);
    }
  });
});
