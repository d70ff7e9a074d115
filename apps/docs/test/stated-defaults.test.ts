import { grpo } from '@agentlightning/algorithms';
import { aCollectedGroup } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { readText } from '../../../tools/repository-files.ts';

/** The last column of the table beside TRL and verl, by the first. */
const stated = new Map(
  [...readText('apps/docs/content/learn/comparison.md').matchAll(/^\| ([^|]+) \|[^|]+\|[^|]+\| ([^|]+) \|$/gm)].map(
    ([, setting = '', here = '']) => [setting, here],
  ),
);

test('the defaults that stand beside those of TRL and verl are those of the algorithm', () => {
  const context = { step: 1, totalSteps: 1, policyVersion: 0, seed: 0 };
  const [update] = grpo().planStep([aCollectedGroup([0, 0, 0, 1])], context).updates;
  const { clip_low, clip_high, dual_clip, entropy_coefficient = 0, kl_coefficient } = update?.loss.parameters ?? {};
  expect(stated.get('lower and upper clip')).toBe(`\`clipLow: ${clip_low}\`, \`clipHigh: ${clip_high}\``);
  expect(stated.get('bound for negative advantages')).toBe(`\`dualClip: ${dual_clip}\``);
  expect(stated.get('entropy bonus')).toBe(`\`entropyCoefficient: ${entropy_coefficient}\``);
  expect(stated.get('KL')).toBe(`\`klCoefficient: ${kl_coefficient}\``);
  const advantages = update?.batches.flatMap(({ data }) => data.map((datum) => datum.advantages[0])) ?? [];
  expect(stated.get('advantage')).toContain('plus 1e-6');
  expect(advantages.at(-1)).toBeCloseTo(0.75 / (0.5 + 1e-6), 6);
});
