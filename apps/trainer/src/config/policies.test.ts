import { expect, test } from 'vitest';
import { resolvePolicies } from './policies.ts';
import { groupSizeOf } from './policy-learner.ts';

const grpo = { type: 'grpo', groupSize: 4 } as const;

test('a run that names no policies has one, which serves all agents', () => {
  expect(resolvePolicies(undefined, { algorithm: grpo })).toEqual([
    { name: null, agents: [], modelNames: [], algorithm: grpo, baseModel: null },
  ]);
});

test('policies take what they do not say from the rest, and one that is not trained has no algorithm', () => {
  const rloo = { type: 'rloo', groupSize: 4 } as const;
  const policies = {
    writer: { agents: ['writer'], algorithm: rloo, model: 'tiny-random' },
    critic: { agents: ['boss>critic'] },
    judge: { train: false },
  };
  expect(resolvePolicies(policies, { algorithm: grpo })).toEqual([
    { name: 'writer', agents: ['writer'], modelNames: [], algorithm: rloo, baseModel: 'tiny-random' },
    { name: 'critic', agents: ['boss>critic'], modelNames: [], algorithm: grpo, baseModel: null },
    { name: 'judge', agents: [], modelNames: [], algorithm: null, baseModel: null },
  ]);
});

test.each([
  [{}, /is empty/],
  [{ judge: { train: false } }, /none of them is trained/],
  [{ 'a b': {} }, /"a b" cannot be the name of a policy/],
  [{ reference: {} }, /"reference" cannot be/],
  [{ one: { agents: ['x'] }, other: { agents: ['y', 'x'] } }, /the agent "x" is in one and in other/],
  [
    { one: { algorithm: { type: 'grpo', groupSize: 0 } } },
    /policies\.one: algorithm grpo: groupSize: must be at least 1, not 0/,
  ],
] as const)('%j is refused', (policies, message) => {
  expect(() => resolvePolicies(policies, { algorithm: grpo })).toThrow(message);
});

test('policies that are trained must compare as many rollouts, since they share them', () => {
  const policies = {
    writer: {},
    critic: { algorithm: { type: 'grpo', groupSize: 8 } as const },
    judge: { train: false },
  };
  expect(() => groupSizeOf(resolvePolicies(policies, { algorithm: grpo }))).toThrow(
    /different group sizes: writer 4, critic 8/,
  );
  expect(groupSizeOf(resolvePolicies({ ...policies, critic: {} }, { algorithm: grpo }))).toBe(4);
});
