import { describeCreditAssignmentContract } from '@agentlightning/core/contracts';
import { aTrajectory } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { teamwork } from '../../test/teamwork.ts';
import { byAgentCredit } from '../credit-assignment/by-agent-credit.ts';
import { lastTurnCredit, terminalCredit } from '../credit-assignment/credit-assignment-options.ts';
import { scoresByRow } from '../rows/row-scores.ts';
import { advantageEstimationOf } from './advantage-estimation.ts';
import { penalisedCredit } from './penalised-credit.ts';

const free = { ofRollout: () => 0, ofTurn: () => 0 };
describeCreditAssignmentContract({
  name: 'terminal, penalised',
  create: () => penalisedCredit(terminalCredit(), free),
});
describeCreditAssignmentContract({ name: 'by-agent, penalised', create: () => penalisedCredit(byAgentCredit(), free) });

const bySequence = { ofRollout: () => 0, ofTurn: ({ sequenceId }: { sequenceId: number }) => 10 ** sequenceId };

test('an agent pays for its own tokens only, regardless of whose reward it has and of its share in the team', () => {
  expect(penalisedCredit(byAgentCredit({ team: 2 }), bySequence).assign(teamwork)).toEqual([
    [1.25 - 10_010, 1.25 - 10_010],
    [0 - 100, 0.5 - 1000],
  ]);
});

test('what the rollout did as a whole every agent pays for', () => {
  const penalties = { ofRollout: () => 0.5, ofTurn: () => 0 };
  expect(penalisedCredit(byAgentCredit({ team: 2 }), penalties).assign(teamwork)).toEqual([
    [0.75, 0.75],
    [-0.5, 0],
  ]);
});

test('a rollout that is compared as a whole pays for the turns that are trained on', () => {
  expect(penalisedCredit(terminalCredit(), bySequence).assign(teamwork)).toEqual([
    [0.5 - 11_110, 0.5 - 11_110],
    [0.5 - 11_110, 0.5 - 11_110],
  ]);
  expect(penalisedCredit(lastTurnCredit(), bySequence).assign(teamwork)).toEqual([
    [null, 0.5 - 10_000],
    [null, null],
  ]);
});

test('who has no return pays nothing, and stays without', () => {
  expect(penalisedCredit(byAgentCredit(), bySequence).assign({ ...teamwork, reward: null })).toEqual([
    [0.25 - 10_010, 0.25 - 10_010],
    [-1 - 100, null],
  ]);
  expect(penalisedCredit(terminalCredit(), bySequence).assign({ ...teamwork, reward: null })).toBeNull();
});

test('an overlong rollout and a KL term in the reward reach agents with their own rewards', () => {
  // A second rollout that says no more than the first agent's half of it, as the reference would.
  const short = aTrajectory({ ...teamwork, rolloutId: 'ro-2', rows: structuredClone(teamwork.rows.slice(0, 1)) });
  const trajectories = [teamwork, short];
  const reference = trajectories.flatMap(({ rows }, rollout) =>
    rows.map(
      ({ samplingLogprobs }) => new Float32Array(samplingLogprobs.map((own) => (rollout === 0 ? own - 0.5 : own))),
    ),
  );
  const shared = { creditAssignment: { type: 'by-agent' }, advantage: { type: 'dr-grpo' } } as const;
  const scores = scoresByRow(trajectories, { reference });
  const ofWriter = (settings: Parameters<typeof advantageEstimationOf>[0]): number | null | undefined =>
    advantageEstimationOf({ ...shared, ...settings }).estimate(trajectories, scores).scored[0]?.advantages[0]?.[0];
  expect(ofWriter({})).toBe(0);
  // Penalties of 1 and 0, against their mean.
  const sampled = (rows: typeof teamwork.rows): number => rows.flatMap((row) => row.samplingLogprobs).length;
  const [all, half] = [sampled(teamwork.rows), sampled(short.rows)];
  expect(ofWriter({ overlongPenalty: { maxTokens: all, bufferTokens: all - half } })).toBe(-0.5);
  // Of 0.5 nats for each of the writer's tokens, and of none, by half.
  expect(ofWriter({ klPlacement: 'reward', klCoefficient: 1 })).toBeCloseTo(-0.25 * half, 5);
});
