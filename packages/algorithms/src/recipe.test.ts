import { expect, test } from 'vitest';
import { apo } from './prompt-search/apo.ts';
import { createRecipe, promptSearchTypes, recipeTypes } from './recipe.ts';

test('a name makes an algorithm or a search, and its kind says which', () => {
  expect(createRecipe('apo').kind).toBe('prompt-search');
  expect(createRecipe({ type: 'gepa', maxRollouts: 7 })).toMatchObject({ name: 'gepa', budget: { maxRollouts: 7 } });
  expect(createRecipe('grpo')).toMatchObject({ name: 'grpo', groupSize: 8 });
  expect(createRecipe('grpo').kind).not.toBe('prompt-search');
  for (const type of ['dapo', 'sft', 'dpo', ...promptSearchTypes] as const)
    expect(createRecipe({ type }).name).toBe(type);
  const own = { ...apo(), name: 'my own' };
  expect(createRecipe(own)).toBe(own);
  expect(recipeTypes).toEqual(expect.arrayContaining([...promptSearchTypes]));
});

test.each([
  [{ type: 'apoo' }, /algorithm: there is no algorithm "apoo"; did you mean "apo"\?/],
  [{ type: 'toString' }, /algorithm: there is no algorithm "toString"$/],
  [{ type: 'apo', round: 1 }, /algorithm apo: there is no option "round"; did you mean "rounds"\?/],
  [{ type: 'gepa', maxRollouts: 0.5 }, /algorithm gepa: maxRollouts: must be a whole number, not 0\.5/],
  [undefined, /algorithm: type must be a name, not undefined/],
])('%j is refused with what was meant', (options, message) => {
  expect(() => createRecipe(JSON.parse(JSON.stringify(options ?? null)))).toThrow(message);
});

test('a name that is not known is answered with all that there are', () => {
  expect(() => createRecipe(JSON.parse('{"type":"best"}'))).toThrow(
    expect.objectContaining({ remedy: expect.stringMatching(/^Use one of grpo, .*apo, gepa\.$/) }),
  );
});
