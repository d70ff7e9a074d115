import { aCollectedRollout } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { warnOfLeftOut } from './warn-of-left-out.ts';

const collected = [
  aCollectedRollout({ calls: [{ agentName: 'writer', model: 'run-1-main' }, { model: 'run-1-main' }] }),
  aCollectedRollout({ calls: [{ agentName: 'writer', model: 'run-1-main' }] }),
];

/** The warnings of steps whose metrics are given, by the same run. */
function warningsOf(name: string | null, ...steps: readonly Readonly<Record<string, number>>[]): readonly string[] {
  const warnings: string[] = [];
  const session = {
    toldWarnings: new Set<string>(),
    emit: (event: { readonly type: string; readonly message?: string }): void =>
      void warnings.push(event.message ?? ''),
  };
  for (const [index, metrics] of steps.entries()) {
    warnOfLeftOut(session, { collected, outcomes: [{ policy: { name }, plan: { metrics } }], step: index + 1 });
  }
  return warnings;
}

test('tells what was left out with count and reason, each kind once', () => {
  const metrics = {
    'calls/total': 40,
    'calls/untrainable': 5,
    'calls/untrainable/the_answer_broke_off': 3,
    'calls/untrainable/greedy': 2,
    'rows/dropped': 1,
    'rows/truncated': 0,
    'rollouts/without_reward': 4,
  };
  expect(warningsOf(null, metrics, metrics, { ...metrics, 'rows/truncated': 7 })).toEqual([
    'step 1: 3 of 40 model calls cannot be trained on: the answer broke off',
    'step 1: 2 of 40 model calls cannot be trained on: greedy',
    'step 1: 1 row that was longer than `maxTokens`',
    'step 1: 4 rollouts without a reward',
    'step 3: 7 rows whose ends were cut, at `maxTokens`',
  ]);
});

test('says nothing of calls that the user has left out, unless none is left', () => {
  expect(warningsOf(null, { 'calls/total': 3, 'calls/untrainable/other_agent': 2 })).toEqual([]);
  expect(warningsOf('critic', { 'calls/total': 3, 'calls/untrainable/other_model': 3 })).toEqual([
    'policy critic, step 1: none of the model calls is trained on; they were made by writer at run-1-main (2), by nobody known at run-1-main (1)',
  ]);
});

test('says nothing where an algorithm of one’s own does not count', () => {
  expect(warningsOf(null, {})).toEqual([]);
});
