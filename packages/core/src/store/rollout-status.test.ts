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

describe('rollout state machine', () => {
  test('permits the current status', () => {
    for (const status of statuses) expect(() => assertRolloutTransition('ro-1', status, status)).not.toThrow();
  });

  test('rejects every transition that is not in the table, with both statuses', () => {
    for (const from of statuses) {
      for (const to of statuses.filter((status) => status !== from && !rolloutTransitions[from].includes(status))) {
        expect(() => assertRolloutTransition('ro-1', from, to)).toThrow(
          `Rollout ro-1 is ${from} and cannot become ${to}`,
        );
      }
    }
  });

  test('never leaves succeeded, and leaves other final statuses only by requeuing', () => {
    expect(rolloutTransitions.succeeded).toEqual([]);
    expect(rolloutTransitions.failed).toEqual(['requeuing']);
    expect(rolloutTransitions.cancelled).toEqual(['requeuing']);
  });

  test('reaches a final status from every other status', () => {
    for (const status of statuses.filter((candidate) => !isTerminalRolloutStatus(candidate))) {
      expect(rolloutTransitions[status]).toEqual(expect.arrayContaining([...terminalRolloutStatuses]));
    }
  });
});

describe('rollout status from attempt', () => {
  const policies = fc.record({
    sequenceId: fc.integer({ min: 1, max: 5 }),
    maxAttempts: fc.integer({ min: 1, max: 5 }),
    retryCondition: fc.subarray(attemptStatuses),
  });

  test('equals that of an open or successful attempt', () => {
    fc.assert(
      fc.property(policies, fc.constantFrom('preparing', 'running', 'succeeded'), (policy, status) => {
        expect(rolloutStatusFromAttempt(status, policy)).toBe(status);
      }),
    );
  });

  test('is requeuing after a failure while the policy has attempts left', () => {
    fc.assert(
      fc.property(policies, fc.constantFrom('failed', 'timeout', 'unresponsive'), (policy, status) => {
        const isLeft = policy.retryCondition.includes(status) && policy.sequenceId < policy.maxAttempts;
        expect(rolloutStatusFromAttempt(status, policy)).toBe(isLeft ? 'requeuing' : 'failed');
      }),
    );
  });
});
