import { describe, expect, test } from 'vitest';
import { fieldsOf, hasFields, plainText } from './unknown-value.ts';

describe('framework values', () => {
  test('only objects, lists, functions and classes have fields', () => {
    const tool = (): void => {};
    expect([{ a: 1 }, [], tool, class Model {}].every(hasFields)).toBe(true);
    expect([null, undefined, 'text', 7, true, Symbol('s')].some(hasFields)).toBe(false);
    expect(fieldsOf({ a: 1 }).a).toBe(1);
    expect(fieldsOf(null)).toEqual({});
  });

  test('a string is unchanged, and a value without a JSON form becomes its type tag', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect([plainText('say "hi"'), plainText({ a: [1] }), plainText(7)]).toEqual(['say "hi"', '{"a":[1]}', '7']);
    expect([plainText(circle), plainText(undefined), plainText(1n)]).toEqual([
      '[object Object]',
      '[object Undefined]',
      '[object BigInt]',
    ]);
  });
});
