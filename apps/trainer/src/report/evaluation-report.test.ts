import { expect, test } from 'vitest';
import type { EvaluatedSubject, EvaluationReport } from '../evaluation-run/evaluation-report.ts';
import { evaluationProgress } from './evaluation-progress.ts';
import { evaluationText } from './evaluation-text.ts';

const best: EvaluatedSubject = {
  subject: 'run-1@best',
  reward: 0.75,
  ci95: [0.5, 0.9],
  rollouts: 6,
  failed: 1,
  missing: 2,
  missingShare: 0.25,
  parts: { correct: { reward: 0.5, ci95: [0.2, 0.8], rollouts: 6 } },
  failures: { timeout: 1, no_reward: 2 },
  constantResponse: { text: 'yes', reward: 0.5, seenShare: 0.75 },
};

const report: EvaluationReport = {
  runId: 'one',
  tasks: 4,
  samples: 2,
  of: best,
  against: {
    ...best,
    subject: 'base',
    reward: 0.25,
    missing: 0,
    missingShare: 0,
    failures: {},
    parts: {},
    constantResponse: null,
  },
  comparison: {
    difference: 0.5,
    ci95: [0.1, 0.7],
    pValue: 0.03,
    verdict: 'undecided',
    tasks: 4,
    missingShare: 0.25,
    gains: [
      { index: 3, task: { q: 'Four?' }, of: 1, against: 0, difference: 1, rolloutOf: 'ro-a', rolloutAgainst: 'ro-b' },
    ],
    losses: [],
  },
  isDecided: false,
  maxMissingShare: 0.05,
  seconds: 3,
  storeUrl: 'postgres://agl:secret@db/agl',
};

test('the table has parts, failures by cause, the rule for missing rewards, and the comparison', () => {
  const lines = evaluationText(report, { command: 'agl', storeUrl: 'sqlite:.agl/agl.db' }).split('\n');
  expect(lines).toEqual([
    'SUBJECT     REWARD  95% INTERVAL    ROLLOUTS  FAILED  MISSING',
    'run-1@best  0.750   0.500 to 0.900  6         1       2',
    '  correct   0.500   0.200 to 0.800  6',
    'base        0.250   0.500 to 0.900  6         1       0',
    '',
    'Failures of run-1@best: timeout 1, no_reward 2',
    'Best constant response of run-1@best: "yes", at least 0.50, seen on 75% of the tasks',
    '2 rollouts without a reward: excluded from the mean. More than 5% are missing (--max-missing): the result is not reliable.',
    'run-1@best minus base: +0.500 (95% +0.100 to +0.700, paired bootstrap over 4 tasks; p = 0.0300): not decided, too many rewards are missing',
    'Largest gains:',
    '  +1.000 (0.000 -> 1.000)  task 3  {"q":"Four?"}  agl show ro-a',
    '3s. Rollouts: agl rollouts --run one',
    '',
  ]);
});

test('the JSON lines are the events', () => {
  const lines: string[] = [];
  const progress = evaluationProgress({ type: 'json', write: (line) => void lines.push(line) });
  progress.onEvent({ type: 'started', runId: 'one', name: 'n', tasks: 4, samples: 2, subjects: ['base'] });
  progress.onEvent({ type: 'rollout-finished', subject: 'base', finished: 1, total: 8 });
  progress.onEvent({ type: 'evaluated', summary: best });
  expect(progress.runId()).toBe('one');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { type: 'started', runId: 'one' },
    { type: 'evaluated', summary: { subject: 'run-1@best', missingShare: 0.25, failures: { timeout: 1 } } },
  ]);
});
