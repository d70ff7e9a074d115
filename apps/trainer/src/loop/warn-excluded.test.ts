import { aCollectedRollout } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { warnExcluded } from './warn-excluded.ts';

const collected = [
  aCollectedRollout({ calls: [{ agentName: 'writer', model: 'run-1-main' }, { model: 'run-1-main' }] }),
  aCollectedRollout({ calls: [{ agentName: 'writer', model: 'run-1-main' }] }),
];

/** The warnings of consecutive steps of a run with these metrics. */
function warningsOf(name: string | null, ...steps: readonly Readonly<Record<string, number>>[]): readonly string[] {
  const warnings: string[] = [];
  const session = {
    emittedWarnings: new Set<string>(),
    emit: (event: { readonly type: string; readonly message?: string }): void =>
      void warnings.push(event.message ?? ''),
  };
  for (const [index, metrics] of steps.entries()) {
    warnExcluded(session, { collected, outcomes: [{ policy: { name }, plan: { metrics } }], step: index + 1 });
  }
  return warnings;
}

test('warns of each kind of exclusion once, with count and reason', () => {
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
    'step 1: 3 of 40 model calls are excluded from training: the answer broke off',
    'step 1: 2 of 40 model calls are excluded from training: greedy',
    'step 1: 1 row that was longer than `maxTokens`',
    'step 1: 4 rollouts without a reward',
    'step 3: 7 rows that were truncated to `maxTokens`',
  ]);
});

test('does not warn of calls that the configuration excludes, unless it excludes all', () => {
  expect(warningsOf(null, { 'calls/total': 3, 'calls/untrainable/other_agent': 2 })).toEqual([]);
  expect(warningsOf('critic', { 'calls/total': 3, 'calls/untrainable/other_model': 3 })).toEqual([
    'policy critic, step 1: all model calls are excluded from training; callers: writer at run-1-main (2), unknown agent at run-1-main (1)',
  ]);
});

test('does not warn when the algorithm has no counts', () => {
  expect(warningsOf(null, {})).toEqual([]);
});
