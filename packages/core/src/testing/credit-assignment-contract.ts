import { describe, expect, test } from 'vitest';
import type { CreditAssignment } from '../algorithm/advantage.ts';
import type { Trajectory } from '../algorithm/trajectory.ts';
import { aTrajectory, aTrajectoryRow } from './a-trajectory.ts';
import { deepFreeze } from './deep-freeze.ts';

/** Options of the credit assignment contract. */
export interface CreditAssignmentContractOptions {
  /** Name of the implementation in the test report. */
  readonly name: string;
  readonly create: () => CreditAssignment;
}

/**
 * The contract that every {@link CreditAssignment} keeps, as vitest tests.
 *
 * @example
 * ```ts
 * describeCreditAssignmentContract({ name: 'terminal', create: terminalCredit });
 * ```
 */
export function describeCreditAssignmentContract({ name, create }: CreditAssignmentContractOptions): void {
  describe(`the credit assignment contract: ${name}`, () => {
    test('it has a name', () => {
      expect(create().name).not.toBe('');
    });

    test.each(Object.entries(trajectories))('returns have the shape of the trajectory: %s', (_, trajectory) => {
      const returns = create().assign(trajectory);
      expect(returns?.map((row) => row.length)).toEqual(trajectory.rows.map((row) => row.trained.length));
    });

    test.each(Object.entries(trajectories))('returns are finite numbers, or null: %s', (_, trajectory) => {
      for (const value of create().assign(trajectory)?.flat() ?? []) {
        if (value !== null) expect(value).toSatisfy(Number.isFinite);
      }
    });

    test('a trajectory without any reward has no returns, not returns of 0', () => {
      expect(create().assign(aTrajectory({ reward: null }))).toBeNull();
    });

    test('a reward of 0 is a reward', () => {
      const returns = create().assign(aTrajectory({ reward: 0 }));
      expect(returns?.flat()).toContain(0);
    });

    test('the last turn before a single reward has that reward', () => {
      const returns = create().assign(aTrajectory({ reward: 0.75, rows: [aTrajectoryRow([{}])] }));
      expect(returns).toEqual([[0.75]]);
    });

    test('assignment is deterministic and does not mutate the trajectory', () => {
      for (const trajectory of Object.values(trajectories)) {
        expect(create().assign(deepFreeze(structuredClone(trajectory)))).toEqual(create().assign(trajectory));
      }
    });

    if (create().scope !== 'rollout') return;
    test('with scope rollout all returns of a rollout are equal', () => {
      for (const trajectory of Object.values(trajectories)) {
        const returns = create().assign(trajectory)?.flat() ?? [];
        expect(new Set(returns.filter((value) => value !== null)).size).toBeLessThanOrEqual(1);
      }
    });
  });
}

const rewardedTurns = [
  { sequenceId: 1, reward: 0.25 },
  { sequenceId: 3, reward: null },
  { sequenceId: 5, reward: -0.5 },
];

const trajectories: Readonly<Record<string, Trajectory>> = {
  'one row of two turns': aTrajectory(),
  'turns with rewards': aTrajectory({ rows: [aTrajectoryRow(rewardedTurns)] }),
  'two rows with interleaved turns': aTrajectory({
    rows: [aTrajectoryRow(rewardedTurns), aTrajectoryRow([{ sequenceId: 2, reward: 1 }, { sequenceId: 4 }])],
  }),
  'no rows': aTrajectory({ rows: [] }),
  'a negative reward': aTrajectory({ reward: -3 }),
};
