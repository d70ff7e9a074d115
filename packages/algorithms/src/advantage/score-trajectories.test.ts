import type { AdvantageEstimator, CreditAssignment, RolloutReturn, Trajectory } from '@agentlightning/core/algorithm';
import { type ATurn, aTrajectory, aTrajectoryRow } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { byAgentCredit } from '../credit-assignment/by-agent-credit.ts';
import { lastTurnCredit, terminalCredit } from '../credit-assignment/credit-assignment-options.ts';
import { perTurnCredit } from '../credit-assignment/per-turn-credit.ts';
import { meanCentredAdvantage } from './group-advantages.ts';
import { grpoAdvantage } from './grpo-advantage.ts';
import { scoreTrajectories } from './score-trajectories.ts';

const rollout = (rolloutId: string, reward: number | null, rows: readonly (readonly ATurn[])[]): Trajectory =>
  aTrajectory({ rolloutId, reward, rows: rows.map((turns) => aTrajectoryRow(turns)) });

test('a rollout counts once in the mean, however many rows and turns it has', () => {
  const many = rollout('ro-1', 1, [[{}, {}, {}], [{ sequenceId: 4 }], [{ sequenceId: 5 }]]);
  const { scored } = scoreTrajectories([many, rollout('ro-2', 0, [[{}]])], terminalCredit(), meanCentredAdvantage());
  expect(scored.map(({ advantages }) => advantages)).toEqual([[[0.5, 0.5, 0.5], [0.5], [0.5]], [[-0.5]]]);
});

test('splitting a row changes no advantage', () => {
  const whole = [rollout('ro-1', 1, [[{}, {}]]), rollout('ro-2', 0.25, [[{}]]), rollout('ro-3', 0, [[{}]])];
  const split = [rollout('ro-1', 1, [[{}], [{ sequenceId: 2 }]]), ...whole.slice(1)];
  const scores = [whole, split].map((each) => scoreTrajectories(each, terminalCredit(), grpoAdvantage()).scored);
  expect(scores[1]?.map(({ advantages }) => advantages.flat())).toEqual(
    scores[0]?.map(({ advantages }) => advantages.flat()),
  );
});

test('rollouts without a reward are left out, counted, and move no mean', () => {
  const trajectories = [1, null, 0].map((reward, index) => rollout(`ro-${index}`, reward, [[{}]]));
  const { scored, withoutReturn } = scoreTrajectories(trajectories, terminalCredit(), meanCentredAdvantage());
  expect(scored.map(({ trajectory, advantages }) => [trajectory.rolloutId, advantages])).toEqual([
    ['ro-0', [[0.5]]],
    ['ro-2', [[-0.5]]],
  ]);
  expect(withoutReturn).toBe(1);
});

test('the reward of a rollout without trainable tokens still counts in the mean', () => {
  const trajectories = [rollout('ro-1', 1, [[{}]]), rollout('ro-2', 0, [])];
  const { scored } = scoreTrajectories(trajectories, terminalCredit(), meanCentredAdvantage());
  expect(scored.map(({ advantages }) => advantages)).toEqual([[[0.5]], []]);
});

test('with per-turn credit the n-th turn is compared with the n-th turns of the others', () => {
  const one = rollout('ro-1', null, [[{ reward: 1 }, { reward: 0 }]]);
  const other = rollout('ro-2', null, [
    [
      { sequenceId: 3, reward: 0 },
      { sequenceId: 9, reward: 0.5 },
    ],
  ]);
  const { scored } = scoreTrajectories([one, other], perTurnCredit(), meanCentredAdvantage());
  expect(scored.map(({ advantages }) => advantages)).toEqual([[[0.5, -0.25]], [[-0.5, 0.25]]]);
});

test('turns are compared by their sequence ids as numbers, in any order of rows', () => {
  const one = rollout('ro-1', null, [[{ sequenceId: 10, reward: 0 }], [{ sequenceId: 9, reward: 1 }]]);
  const other = rollout('ro-2', null, [
    [
      { sequenceId: 1, reward: 0 },
      { sequenceId: 2, reward: 0.5 },
    ],
  ]);
  const { scored } = scoreTrajectories([one, other], perTurnCredit(), meanCentredAdvantage());
  expect(scored.map(({ advantages }) => advantages)).toEqual([[[-0.25], [0.5]], [[-0.5, 0.25]]]);
});

test('a turn without a return has no advantage, which is not 0', () => {
  const one = rollout('ro-1', null, [[{ reward: 1 }, { reward: null }]]);
  const other = rollout('ro-2', null, [[{ reward: 0 }, { reward: 0.5 }, { sequenceId: 3, reward: 2 }]]);
  const result = scoreTrajectories([one, other], perTurnCredit(), meanCentredAdvantage());
  expect(result.scored.map(({ advantages }) => advantages)).toEqual([[[0.5, null]], [[-0.5, 0, 0]]]);
  expect(result.singletonGroups).toBe(2);
});

test('the choices of one call share what their turn got', () => {
  const one = rollout('ro-1', null, [[{ sequenceId: 1, reward: 1 }], [{ sequenceId: 1, reward: 1 }]]);
  const other = rollout('ro-2', null, [[{ sequenceId: 1, reward: 0 }]]);
  const { scored } = scoreTrajectories([one, other], perTurnCredit(), meanCentredAdvantage());
  expect(scored.map(({ advantages }) => advantages)).toEqual([[[0.5], [0.5]], [[-0.5]]]);
});

test('the estimator receives how many tokens of each rollout or turn are trained on', () => {
  const seen: RolloutReturn[] = [];
  const spy: AdvantageEstimator = {
    name: 'spy',
    estimate: (returns) => {
      seen.push(...returns);
      return { advantages: returns.map(() => 0), singletonGroups: 0, constantGroups: 0 };
    },
  };
  const rows = [[{ sampled: 3, reward: 1 }], [{ sequenceId: 2, sampled: 4, reward: 2 }]];
  scoreTrajectories([rollout('ro-1', 1, rows)], terminalCredit(), spy);
  scoreTrajectories([rollout('ro-1', 1, rows)], lastTurnCredit(), spy);
  scoreTrajectories([rollout('ro-1', 1, rows)], perTurnCredit(), spy);
  expect(seen.map(({ groupId, trainedTokens }) => [groupId, trainedTokens])).toEqual([
    ['gr-1', 7],
    ['gr-1', 4],
    ['gr-1/turn-1', 3],
    ['gr-1/turn-2', 4],
  ]);
});

test('agents are compared with themselves: once for each rollout, or turn by turn', () => {
  const turn = (sequenceId: number, agentName: string, reward: number): ATurn => ({ sequenceId, agentName, reward });
  const trajectories = [
    { ...rollout('ro-1', 0, [[turn(1, 'a', 1), turn(3, 'a', 5)], [turn(2, 'b', 10)]]), agentRewards: { a: 6, b: 10 } },
    { ...rollout('ro-2', 0, [[turn(2, 'a', 3)], [turn(1, 'b', 30)]]), agentRewards: { a: 4, b: 20 } },
  ];
  const advantagesWith = (credit: CreditAssignment): unknown =>
    scoreTrajectories(trajectories, credit, meanCentredAdvantage()).scored.map(({ advantages }) => advantages);
  expect(advantagesWith(byAgentCredit())).toEqual([
    [[1, 1], [-5]],
    [[-1], [5]],
  ]);
  // The second turn of `a` has nothing to be compared with.
  expect(advantagesWith(perTurnCredit())).toEqual([
    [[-1, 0], [-10]],
    [[1], [10]],
  ]);
});
