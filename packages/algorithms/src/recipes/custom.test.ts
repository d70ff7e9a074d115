import type { Algorithm } from '@agentlightning/core';
import { aCollectedGroup, aCollectedRollout } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { createAlgorithm, parseAlgorithmOptions } from '../registry.ts';
import { policyGradientRecipe } from './policy-gradient-recipes.ts';

const silent: Algorithm = { name: 'silent', groupSize: 3, planStep: () => ({ updates: [], metrics: { silence: 1 } }) };

test('a custom algorithm is returned unchanged, and so is the result of a factory', () => {
  expect(createAlgorithm({ type: 'custom', algorithm: silent })).toBe(silent);
  expect(createAlgorithm({ type: 'custom', algorithm: () => silent })).toBe(silent);
  const options = { type: 'custom', algorithm: silent } as const;
  expect(parseAlgorithmOptions(options)).toEqual(options);
});

test('a custom recipe receives the models whose calls it learns from', () => {
  const cautious = policyGradientRecipe('cautious', { clipHigh: 0.1, groupSize: 2 });
  const algorithm = createAlgorithm({ type: 'custom', algorithm: cautious, models: ['small'] });
  const rollouts = [1, 0].map((reward, index) =>
    aCollectedRollout({
      rolloutId: `ro-${index}`,
      reward,
      calls: [{ model: 'small' }, { model: 'large', promptTokenIds: [9] }],
    }),
  );
  const context = { step: 1, totalSteps: 1, policyVersion: 0, seed: 0 };
  const { updates } = algorithm.planStep([{ groupId: 'gr-1', rollouts }], context);
  const data = updates.flatMap(({ batches }) => batches.flatMap((batch) => batch.data));
  expect(data.map(({ tokenIds }) => tokenIds[0])).toEqual([1, 1]);
  expect(updates[0]?.loss.parameters).toMatchObject({ clip_high: 0.1 });
  expect(algorithm.planStep([aCollectedGroup([1, 0])], context).updates).toHaveLength(0);
});

describe('invalid algorithms are rejected', () => {
  const without = (name: keyof Algorithm): unknown => ({ ...silent, [name]: undefined });
  test.each([
    [undefined, /algorithm: .*must be an object with name, groupSize and a method `planStep`/],
    ['grpo', /must be an object .*, not "grpo"/],
    [without('planStep'), /must be an object/],
    [without('name'), /it has no name/],
    [{ ...silent, groupSize: 0.5 }, /its groupSize is 0.5/],
    [() => ({}), /it has no method `planStep`/],
  ])('%s', (algorithm, message) => {
    expect(() => parseAlgorithmOptions({ type: 'custom', algorithm })).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
  });

  test('and an object that cannot receive the models whose calls it learns from', () => {
    const options = { type: 'custom', algorithm: silent, models: ['small'] };
    expect(() => parseAlgorithmOptions(options)).toThrow(/"silent" must train on the calls of small only/);
  });

  test('and other options', () => {
    const options = { type: 'custom', algorithm: silent, groupSize: 2 };
    expect(() => parseAlgorithmOptions(options)).toThrow(/no option "groupSize"; there are algorithm, models/);
  });
});
