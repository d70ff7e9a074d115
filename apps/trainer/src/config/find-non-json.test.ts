import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findNonJson } from './find-non-json.ts';

class Basket {
  readonly size = 2;
}

test.each([
  [{ n: 10n }, 'field "n" is a bigint'],
  [{ list: [{ score: Number.NaN }] }, 'field "list.0.score" is NaN'],
  [{ max: Number.POSITIVE_INFINITY }, 'field "max" is Infinity'],
  [{ due: new Date(0) }, 'field "due" is a Date'],
  [{ seen: new Map([[1, 2]]) }, 'field "seen" is a Map'],
  [{ check: () => 1 }, 'field "check" is a function'],
  [{ list: [undefined] }, 'field "list.0" is undefined'],
  [{ list: Object.assign([1], { 2: 3 }) }, 'field "list.1" is undefined'],
  [new Basket(), 'it is a Basket'],
])('names what would not come back: %o', (value, problem) => {
  expect(findNonJson(value)).toBe(problem);
});

test('names what contains itself, and not what is there twice', () => {
  const shared = { a: 1 };
  expect(findNonJson({ one: shared, other: shared })).toBeNull();
  const circle: Record<string, unknown> = { shared };
  circle['self'] = { circle };
  expect(findNonJson(circle)).toBe('field "self.circle" contains itself');
});

test('has nothing against what comes back as it was', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => findNonJson(value) === null));
  expect(findNonJson({ left: undefined, bare: Object.create(null) as unknown })).toBeNull();
});
