import { aModelCallSpan, aRollout, aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { groupStaleness } from './group-staleness.ts';

/** A rollout with a call of each of these policy versions of the model `policy`; a list has that of each token. */
function sampledBy(...versions: readonly (number | null | readonly number[])[]): FinishedRollout {
  const calls = versions.map((version) => {
    const fields =
      typeof version === 'object' && version !== null
        ? { responsePolicyVersions: version }
        : { policyVersion: version };
    return aModelCallSpan({ model: 'policy', ...fields });
  });
  const spans = [aSpan(), ...calls];
  return { rollout: aRollout({ status: 'succeeded' }), attemptId: 'at-1', spans, failure: null, failureCause: null };
}

test.each([
  ['the oldest call of all rollouts decides', [sampledBy(5, 4), sampledBy(3)], { max: 2, isAhead: false }],
  ['current weights', [sampledBy(5)], { max: 0, isAhead: false }],
  ['weights of a later version no longer exist', [sampledBy(5), sampledBy(6)], { max: 0, isAhead: true }],
  ['the oldest token of a response decides', [sampledBy([4, 5])], { max: 1, isAhead: false }],
  ['weights of a token no longer exist', [sampledBy([5, 6])], { max: 0, isAhead: true }],
  ['an unknown version, and no calls, are current', [sampledBy(null), sampledBy()], { max: 0, isAhead: false }],
])('%s', (_, rollouts, expected) => {
  expect(groupStaleness(rollouts, new Map([['policy', 5]]))).toEqual(expected);
});

test('calls of other models do not count', () => {
  expect(groupStaleness([sampledBy(1)], new Map([['other', 5]]))).toEqual({ max: 0, isAhead: false });
});
