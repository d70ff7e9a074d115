import { describeCreditAssignmentContract } from '@agentlightning/core/contracts';
import { aTrajectory, aTrajectoryRow } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { teamwork } from '../../test/teamwork.ts';
import { byAgentCredit } from './by-agent-credit.ts';
import { creditAssignment, lastTurnCredit, terminalCredit } from './credit-assignment-options.ts';
import { perTurnCredit } from './per-turn-credit.ts';

describeCreditAssignmentContract({ name: 'terminal', create: terminalCredit });
describeCreditAssignmentContract({ name: 'per-turn', create: perTurnCredit });
describeCreditAssignmentContract({ name: 'per-turn, discounted', create: () => perTurnCredit({ discount: 0.9 }) });
describeCreditAssignmentContract({ name: 'last-turn', create: lastTurnCredit });
describeCreditAssignmentContract({ name: 'by-agent', create: byAgentCredit });
describeCreditAssignmentContract({ name: 'by-agent, as a team', create: () => byAgentCredit({ team: 0.5 }) });

const turns = (rewards: readonly (number | null)[]): ReturnType<typeof aTrajectoryRow> =>
  aTrajectoryRow(rewards.map((reward, index) => ({ sequenceId: index + 1, reward })));

test('terminal gives every turn of every row the reward of the rollout', () => {
  const trajectory = aTrajectory({ reward: 0.5, rows: [turns([1, 2]), turns([3])] });
  expect(terminalCredit().assign(trajectory)).toEqual([[0.5, 0.5], [0.5]]);
});

test('per-turn gives every turn its own reward, and leaves a turn without one out', () => {
  const trajectory = aTrajectory({ reward: null, rows: [turns([0.25, null, 0])] });
  expect(perTurnCredit().assign(trajectory)).toEqual([[0.25, null, 0]]);
});

test('per-turn adds the reward of the rollout to that of the last turn', () => {
  expect(perTurnCredit().assign(aTrajectory({ reward: 9, rows: [turns([0.25, null])] }))).toEqual([[0.25, 9]]);
  const rewarded = aTrajectory({ reward: 9, rows: [turns([0.25, null, 0.5])] });
  expect(perTurnCredit().assign(rewarded)).toEqual([[0.25, null, 9.5]]);
  expect(perTurnCredit({ discount: 1 }).assign(rewarded)).toEqual([[9.75, 9.5, 9.5]]);
});

test('the reward of the rollout counts once when it is that of an earlier turn', () => {
  const trajectory = aTrajectory({ reward: 0.25, rewardedCall: 2, rows: [turns([0.5, 0.25, null])] });
  expect(perTurnCredit().assign(trajectory)).toEqual([[0.5, 0.25, null]]);
  expect(perTurnCredit({ discount: 1 }).assign(trajectory)).toEqual([[0.75, 0.25, null]]);
});

test('with a discount a turn has a share of what comes after it', () => {
  const trajectory = aTrajectory({ reward: null, rows: [turns([1, null, 4])] });
  expect(perTurnCredit({ discount: 0.5 }).assign(trajectory)).toEqual([[2, 2, 4]]);
});

test('turns follow each other by sequence id, also across rows', () => {
  const rows = [
    aTrajectoryRow([
      { sequenceId: 1, reward: 1 },
      { sequenceId: 7, reward: 100 },
    ]),
    aTrajectoryRow([{ sequenceId: 4, reward: 10 }]),
  ];
  expect(perTurnCredit({ discount: 1 }).assign(aTrajectory({ reward: null, rows }))).toEqual([[111, 100], [110]]);
});

test('the choices of one call are one turn, whose reward counts once', () => {
  const rows = [
    aTrajectoryRow([
      { sequenceId: 1, reward: 1 },
      { sequenceId: 2, reward: 3 },
    ]),
    aTrajectoryRow([{ sequenceId: 1, reward: 1 }]),
  ];
  expect(perTurnCredit({ discount: 1 }).assign(aTrajectory({ reward: null, rows }))).toEqual([[4, 3], [4]]);
});

test('the return-to-go is the sum over later turns of discount to the power of the distance, times reward', () => {
  const reward = fc.option(fc.double({ min: -10, max: 10, noNaN: true }), { nil: null });
  fc.assert(
    fc.property(
      fc.array(reward, { minLength: 1, maxLength: 12 }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (rewards, discount) => {
        const assigned = perTurnCredit({ discount }).assign(aTrajectory({ reward: null, rows: [turns(rewards)] }));
        for (const turn of rewards.keys()) {
          const later = rewards.slice(turn).map((value, distance) => (value ?? 0) * discount ** distance);
          const expected = rewards.slice(turn).some((value) => value !== null)
            ? later.reduce((sum, x) => sum + x, 0)
            : null;
          const actual = assigned?.[0]?.[turn] ?? null;
          if (expected === null) expect(actual).toBeNull();
          else expect(Math.abs((actual ?? Number.NaN) - expected)).toBeLessThan(1e-9);
        }
      },
    ),
  );
});

test('with discount 1 and only a final reward per-turn is terminal', () => {
  const trajectory = aTrajectory({ reward: 0.75, rows: [turns([null, null]), aTrajectoryRow([{ sequenceId: 9 }])] });
  expect(perTurnCredit({ discount: 1 }).assign(trajectory)).toEqual(terminalCredit().assign(trajectory));
});

test.each([-0.1, 1.1, Number.NaN])('a discount of %s is refused', (discount) => {
  expect(() => perTurnCredit({ discount })).toThrow(/discount: must be from 0 to 1, not/);
});

test('options name the assignment', () => {
  expect(creditAssignment({ type: 'terminal' }).name).toBe('terminal');
  expect(creditAssignment({ type: 'last-turn' }).name).toBe('last-turn');
  expect(creditAssignment({ type: 'by-agent', team: 1 }).assign(teamwork)?.[0]).toEqual([0.75, 0.75]);
  const unjudged = aTrajectory({ reward: null, rows: [turns([1, 2])] });
  expect(creditAssignment({ type: 'per-turn', discount: 1 }).assign(unjudged)).toEqual([[3, 2]]);
});

test('by-agent gives every turn of an agent the rewards that were meant for it, and the others that of the rollout', () => {
  expect(byAgentCredit().assign(teamwork)).toEqual([
    [0.25, 0.25],
    [-1, 0.5],
  ]);
  expect(byAgentCredit({ team: 2 }).assign(teamwork)).toEqual([
    [1.25, 1.25],
    [0, 0.5],
  ]);
});

test('by-agent leaves an agent out that no reward speaks of', () => {
  expect(byAgentCredit().assign({ ...teamwork, reward: null })).toEqual([
    [0.25, 0.25],
    [-1, null],
  ]);
  expect(byAgentCredit().assign({ ...teamwork, reward: null, agentRewards: {} })).toBeNull();
});

test.each([-1, Number.NaN, Infinity])('a team share of %s is refused', (team) => {
  expect(() => byAgentCredit({ team })).toThrow(/team: must be a number of 0 or more, not/);
});

test('last-turn gives the last turn of all rows the reward, and trains no other', () => {
  const rows = [aTrajectoryRow([{ sequenceId: 1 }, { sequenceId: 9 }]), aTrajectoryRow([{ sequenceId: 4 }])];
  expect(lastTurnCredit().assign(aTrajectory({ reward: 0.5, rows }))).toEqual([[null, 0.5], [null]]);
});
