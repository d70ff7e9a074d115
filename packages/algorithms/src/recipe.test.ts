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
  [{ type: 'apoo' }, /type must be one of .*grpo.*apo, gepa, not "apoo"/],
  [{ type: 'toString' }, /type must be one of/],
  [{ type: 'apo', round: 1 }, /algorithm apo: there is no option "round"; there are rounds, beamWidth/],
  [{ type: 'gepa', maxRollouts: 0.5 }, /algorithm gepa: maxRollouts: .*, not 0\.5/],
  [undefined, /type must be one of/],
])('%j is refused with what there is', (options, message) => {
  expect(() => createRecipe(JSON.parse(JSON.stringify(options ?? null)))).toThrow(message);
});
