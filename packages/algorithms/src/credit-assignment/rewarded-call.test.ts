import type { Span } from '@agentlightning/core';
import { aModelCallSpan, aRewardSpan, aRollout, aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { air } from '../intermediate-reward/automatic-intermediate-rewards.ts';
import { type CollectOptions, collectTrajectories } from '../trajectory/collect-trajectories.ts';
import { perTurnCredit } from './per-turn-credit.ts';

/** What per-turn credit gives the turns of a rollout with these spans, whose prompts all begin anew. */
function returnsOf(spans: readonly Span[], options: CollectOptions = {}): readonly (number | null)[] {
  const rollout = { rollout: aRollout({ rolloutId: 'ro-1', status: 'succeeded' }), attemptId: 'at-1', spans };
  const { trajectories } = collectTrajectories([{ groupId: 'gr-1', rollouts: [rollout] }], options);
  return trajectories.flatMap((trajectory) => perTurnCredit({ discount: 1 }).assign(trajectory)?.flat() ?? []);
}

const callBy = (agentName: string, sequenceId: number): Span => aModelCallSpan({ sequenceId, agentName });
const reward = (sequenceId: number, value: number): Span => aRewardSpan(value, { sequenceId });

test.each([0, 1])(
  'a verdict of %d after a call that is not trained on counts for the last trained turn, whatever an earlier turn got',
  (verdict) => {
    const spans = [callBy('writer', 1), reward(2, 1), callBy('writer', 3), callBy('critic', 4), reward(5, verdict)];
    expect(returnsOf(spans, { agents: ['writer'] })).toEqual([1 + verdict, verdict]);
  },
);

test.each([0.5, 1])(
  'an outcome of %d counts for the last turn beside the reward that was emitted for it',
  (outcome) => {
    const spans = [callBy('writer', 1), reward(2, 0.25), callBy('writer', 3), reward(4, 0.5), reward(5, outcome)];
    expect(returnsOf(spans)).toEqual([0.75 + outcome, 0.5 + outcome]);
  },
);

test('the reward of the rollout counts once for a turn that a rule gives more', () => {
  const tool = aSpan({
    sequenceId: 2,
    status: { code: 'OK', message: null },
    attributes: { 'agentlightning.step.kind': 'tool-call', 'gen_ai.tool.name': 'search' },
  });
  const spans = [callBy('writer', 1), tool, reward(3, 1), callBy('writer', 4)];
  expect(returnsOf(spans)).toEqual([1, null]);
  expect(returnsOf(spans, { intermediateRewards: [air.onToolSuccess(0.25)] })).toEqual([1.25, null]);
});
