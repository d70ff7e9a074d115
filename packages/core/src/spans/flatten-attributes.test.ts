import fc from 'fast-check';
import { expect, test } from 'vitest';
import { flattenAttributes, type NestedAttributes } from './flatten-attributes.ts';
import { unflattenAttributes } from './unflatten-attributes.ts';

test('nested names are joined by dots', () => {
  expect(flattenAttributes({ a: { b: 1, c: { d: 'x' } }, e: true })).toEqual({ 'a.b': 1, 'a.c.d': 'x', e: true });
});

test('lists of one primitive kind stay whole, other lists are numbered', () => {
  expect(flattenAttributes({ same: [1, 2], mixed: [1, 'a'], deep: [{ x: 1 }, [true]] })).toEqual({
    same: [1, 2],
    'mixed.0': 1,
    'mixed.1': 'a',
    'deep.0.x': 1,
    'deep.1': [true],
  });
});

test('lists of primitives are numbered with expandLists', () => {
  expect(flattenAttributes({ a: [1, 2] }, { expandLists: true })).toEqual({ 'a.0': 1, 'a.1': 2 });
});

test('a top-level list is numbered, unless a prefix names it', () => {
  expect(flattenAttributes([1, 2])).toEqual({ '0': 1, '1': 2 });
  expect(flattenAttributes([1, 2], { prefix: 'p' })).toEqual({ p: [1, 2] });
});

test('empty lists, empty objects and undefined fields are omitted', () => {
  expect(flattenAttributes({ a: [], b: {}, c: undefined })).toEqual({});
});

test.each([
  ['null', null, 'null'],
  ['NaN', Number.NaN, 'NaN'],
  ['a date', new Date(0), 'Date'],
  ['a function', () => 1, 'function'],
  ['a big integer', 1n, 'bigint'],
])('%s is rejected with its path', (_name, value, shown) => {
  expect(() => flattenAttributes({ a: { b: [1, value] } } as never)).toThrow(
    `a.b.1: must be a string, a boolean or a finite number, but is ${shown}`,
  );
});

test('numeric names form a list only when they run from 0 without a gap', () => {
  expect(unflattenAttributes({ 'a.0': 'x', 'a.1': 'y' })).toEqual({ a: ['x', 'y'] });
  expect(unflattenAttributes({ 'a.0': 'x', 'a.2': 'y' })).toEqual({ a: { '0': 'x', '2': 'y' } });
  expect(unflattenAttributes({ 'a.01': 'x' })).toEqual({ a: { '01': 'x' } });
  expect(unflattenAttributes({ '1': 'b', '0': 'a' })).toEqual(['a', 'b']);
});

test('where a name is both a value and a prefix, the longer names win, in either order', () => {
  expect(unflattenAttributes({ a: 1, 'a.b': 2 })).toEqual({ a: { b: 2 } });
  expect(unflattenAttributes({ 'a.b': 2, a: 1 })).toEqual({ a: { b: 2 } });
});

test('a prefix takes only the names below it', () => {
  expect(unflattenAttributes({ 'p.x': 1, p: 2, 'px.y': 3, q: 4 }, 'p')).toEqual({ x: 1 });
});

test('a name such as __proto__ stays a name', () => {
  const nested = unflattenAttributes({ '__proto__.polluted': true });
  expect(Object.getPrototypeOf(nested)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(Object.keys(nested)).toEqual(['__proto__']);
});

/** Nested data without the losses of flattening: empty values, and objects that look like lists. */
const nestedData = fc.letrec<{ node: NestedAttributes; record: NestedAttributes }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.string(), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true })),
    fc.array(fc.string(), { minLength: 1, maxLength: 4 }),
    fc.array(tie('node'), { minLength: 1, maxLength: 4 }),
    tie('record'),
  ),
  record: fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), tie('node'), { minKeys: 1, maxKeys: 4 }),
}));

test('unflatten inverts flatten', () => {
  fc.assert(
    fc.property(nestedData.record, fc.boolean(), (data, expandLists) => {
      expect(unflattenAttributes(flattenAttributes(data, { expandLists }))).toEqual(plain(data));
    }),
  );
});

/** The same data with ordinary prototypes, as unflatten returns it. */
function plain(data: NestedAttributes | undefined): unknown {
  if (Array.isArray(data)) return data.map(plain);
  return typeof data === 'object' ? Object.fromEntries(Object.entries(data).map(([k, v]) => [k, plain(v)])) : data;
}
