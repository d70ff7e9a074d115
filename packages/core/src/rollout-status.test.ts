import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AttemptStatus } from './attempt.ts';
import {
  assertRolloutTransition,
  isTerminalRolloutStatus,
  type RolloutStatus,
  rolloutStatusFromAttempt,
  rolloutTransitions,
  terminalRolloutStatuses,
} from './rollout-status.ts';

const statuses = Object.keys(rolloutTransitions) as RolloutStatus[];
const attemptStatuses: AttemptStatus[] = ['preparing', 'running', 'succeeded', 'failed', 'unresponsive', 'timeout'];

describe('the state machine of a rollout', () => {
  test('lets a rollout stay where it is', () => {
    for (const status of statuses) expect(() => assertRolloutTransition('ro-1', status, status)).not.toThrow();
  });

  test('refuses every change that is not in the table, and says which', () => {
    for (const from of statuses) {
      for (const to of statuses.filter((status) => status !== from && !rolloutTransitions[from].includes(status))) {
        expect(() => assertRolloutTransition('ro-1', from, to)).toThrow(
          `Rollout ro-1 is ${from} and cannot become ${to}`,
        );
      }
    }
  });

  test('keeps success for ever, and reopens other ends by requeuing only', () => {
    expect(rolloutTransitions.succeeded).toEqual([]);
    expect(rolloutTransitions.failed).toEqual(['requeuing']);
    expect(rolloutTransitions.cancelled).toEqual(['requeuing']);
  });

  test('reaches an end from every status that is none', () => {
    for (const status of statuses.filter((candidate) => !isTerminalRolloutStatus(candidate))) {
      expect(rolloutTransitions[status]).toEqual(expect.arrayContaining([...terminalRolloutStatuses]));
    }
  });
});

describe('the status that a rollout takes from its latest attempt', () => {
  const policies = fc.record({
    sequenceId: fc.integer({ min: 1, max: 5 }),
    maxAttempts: fc.integer({ min: 1, max: 5 }),
    retryCondition: fc.subarray(attemptStatuses),
  });

  test('is the attempt’s while it goes on and when it succeeds', () => {
    fc.assert(
      fc.property(policies, fc.constantFrom('preparing', 'running', 'succeeded'), (policy, status) => {
        expect(rolloutStatusFromAttempt(status, policy)).toBe(status);
      }),
    );
  });

  test('is requeuing after a failure exactly while the policy has an attempt left for it', () => {
    fc.assert(
      fc.property(policies, fc.constantFrom('failed', 'timeout', 'unresponsive'), (policy, status) => {
        const isLeft = policy.retryCondition.includes(status) && policy.sequenceId < policy.maxAttempts;
        expect(rolloutStatusFromAttempt(status, policy)).toBe(isLeft ? 'requeuing' : 'failed');
      }),
    );
  });
});
