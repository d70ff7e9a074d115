import { stripVTControlCharacters } from 'node:util';
import type { JudgedPrompts } from '@agentlightning/core/algorithm';
import type { StepSummary, TrainingEvent, TrainingSummary } from '@agentlightning/core/protocol';
import { expect, test } from 'vitest';
import { jsonReport } from './json-report.ts';
import { plainLine, plainReport } from './plain-report.ts';
import { diffLines } from './prompts-report.ts';
import type { Report } from './report.ts';
import { rewardCurve } from './reward-curve.ts';
import { summaryText } from './summary.ts';
import { terminalReport } from './terminal-report.ts';
import { bar, percent, shortDuration, textTable } from './text-formats.ts';

const step: StepSummary = {
  step: 3,
  steps: 12,
  reward: 0.5,
  entropy: 1.25,
  tokensPerSecond: 1234.5,
  seconds: 2,
  secondsLeft: 61,
  metrics: { 'reward/mean': 0.5 },
};
const stepped: TrainingEvent = { type: 'stepped', summary: step };
const evaluated: TrainingEvent = {
  type: 'evaluated',
  tasks: 'test',
  step: 0,
  phase: 'before',
  summary: { reward: 0.25, ci95: [0.2, 0.3], rollouts: 100, failed: 2, missing: 1 },
};

test('a plain report has one line for each step and evaluation', () => {
  const lines: string[] = [];
  const report = plainReport((line) => lines.push(line));
  report.onEvent(evaluated);
  report.onEvent({ type: 'rollout-finished', phase: 'step', step: 3, finished: 1, total: 2 });
  report.onEvent(stepped);
  expect(lines).toEqual([
    'Held-out reward before training: 0.250 (95% 0.200 to 0.300, 100 rollouts, 2 failed, 1 missing)\n',
    'step 3/12 (25%)  reward 0.500  entropy 1.250  1235 tokens/s  1m 01s left\n',
  ]);
});

test('a step of a runtime without entropy is an update, and a step without trained tokens is not', () => {
  const line = (changes: Partial<StepSummary>): string | null =>
    plainLine({ type: 'stepped', summary: { ...step, entropy: null, ...changes } });
  expect(line({})).toBe('step 3/12 (25%)  reward 0.500  1235 tokens/s  1m 01s left');
  expect(line({ tokensPerSecond: 0 })).toContain('no update: no token has an advantage');
});

test('validation tasks and demonstrations have their own names', () => {
  const lines: string[] = [];
  const report = plainReport((line) => lines.push(line));
  report.onEvent({ ...evaluated, phase: 'during', tasks: 'validation' } as TrainingEvent);
  const metrics = { 'rollouts/imitated': 8, 'reward/std': 0, 'policy/loss': 0.75 };
  report.onEvent({ type: 'stepped', summary: { ...step, reward: 1, metrics } });
  expect(lines[0]).toMatch(/^Validation reward at step 0: /);
  expect(lines[1]).toContain('  loss 0.750  ');
  expect(lines[1]).not.toContain('reward');
});

test('a plain report has a line for every ten requests to the optimiser model, and while it does not reply', () => {
  const lines: string[] = [];
  const report = plainReport((line) => lines.push(line));
  const limits = { maxRollouts: null, maxOptimizerCalls: 200 };
  for (let optimizerCalls = 1; optimizerCalls <= 21; optimizerCalls += 1) {
    const counts = { rollouts: 2 * optimizerCalls, running: 0, optimizerCalls, bestScore: 0.5 };
    report.onEvent({ type: 'search-progress', ...counts, ...limits });
  }
  const counts = { rollouts: 42, running: 0, optimizerCalls: 21, bestScore: 0.5 };
  report.onEvent({ type: 'search-progress', ...counts, ...limits, waitingSeconds: 10 });
  expect(lines).toEqual([
    '10 optimiser requests of at most 200, 20 rollouts, best 0.500\n',
    '20 optimiser requests of at most 200, 40 rollouts, best 0.500\n',
    '21 optimiser requests of at most 200, 42 rollouts, best 0.500, no reply of the optimiser model for 10 s\n',
  ]);
});

test('a json report ends with the done object that programs read', () => {
  const lines: string[] = [];
  const others: string[] = [];
  const report = jsonReport(
    (line) => lines.push(line),
    (text) => others.push(text),
  );
  report.onEvent(stepped);
  report.print('what the agent wrote\n');
  const evaluation = { reward: 0.9, ci95: [0.85, 0.95] as const, rollouts: 128, failed: 0, missing: 0 };
  report.onEvent({
    type: 'finished',
    summary: {
      runId: 'run-1',
      before: { ...evaluation, reward: 0.2, ci95: [0.1, 0.3] },
      after: evaluation,
      verdict: 'better',
      caveats: [],
      isImproved: true,
      pValue: 1e-9,
      missingShare: 0,
      rewardCurve: [0.2, 0.9],
      seconds: 42,
      exampleBefore: 'ro-1',
      exampleAfter: 'ro-2',
      dataDir: '.agl',
      storeUrl: 'sqlite:.agl/agl.db',
    },
  });
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ type: 'stepped', summary: { step: 3, tokensPerSecond: 1234.5 } });
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    type: 'finished',
    summary: {
      before: { reward: 0.2, ci95: [0.1, 0.3] },
      after: { reward: 0.9, rollouts: 128, ci95: [0.85, 0.95] },
      seconds: 42,
      runId: 'run-1',
    },
  });
  expect(lines).toHaveLength(2);
  expect(others).toEqual(['what the agent wrote\n']);
});

test.each([
  [{ reason: 'steps', finishedStep: 1, steps: 1 }, 'it has finished 1 step. Increase `steps` to continue.'],
  [
    { reason: 'steps', finishedStep: 4, steps: 2 },
    'it has finished 4 steps, configured are 2. Increase `steps` to continue.',
  ],
  [
    { reason: 'goal', finishedStep: 3, steps: 9 },
    'it reached its goal at step 3. Increase or remove `stop.reward` to continue to step 9.',
  ],
  [
    { reason: 'goal', finishedStep: 3, steps: 3 },
    'it reached its goal at step 3. Increase or remove `stop.reward`, and increase `steps` to continue.',
  ],
  [{ reason: 'limits', finishedStep: 0, steps: 0 }, 'the search has ended. Change its limits to continue.'],
] as const)('a complete run reports why, and how to continue: %o', (why, text) => {
  const lines: string[] = [];
  const event: TrainingEvent = { type: 'nothing-left', runId: 'run-1', ...why };
  plainReport((line) => lines.push(line)).onEvent(event);
  expect(lines).toEqual([`Run run-1 has nothing left to do: ${text}\n`]);
  expect(shown(80, ({ onEvent }) => onEvent(event))).toEqual([...lines.map((line) => line.trim()), '']);
});

/** The final lines of a terminal of this width. */
function shown(columns: number, play: (report: Report) => void): string[] {
  const lines = [''];
  const write = (text: string): void => {
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) lines.push('');
      const [kept = '', ...redrawn] = part.split('\r\u001b[2K');
      lines[lines.length - 1] = redrawn.at(-1) ?? (lines.at(-1) ?? '') + kept;
    }
  };
  play(terminalReport({ columns, write }));
  return lines.map((line) => stripVTControlCharacters(line));
}

test.each([60, 80, 120])('a terminal of %i columns has one live line that fits', (columns) => {
  const lines = shown(columns, ({ onEvent }) => {
    onEvent(evaluated);
    onEvent({ ...stepped, summary: { ...step, step: 12, steps: 25, tokensPerSecond: 1234, secondsLeft: 754 } });
    onEvent({ type: 'rollout-finished', phase: 'step', step: 13, finished: 64, total: 128 });
  });
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^[█▏▎▍▌▋▊▉░]{4,20} {2}step 12\/25 {2}reward 0\.50 {2}entropy/);
  expect(lines[1]?.length).toBeLessThan(columns);
  if (columns >= 80) expect(lines[1]).toMatch(/12m 34s left {2}(rollouts )?64\/128$/);
});

test('agent output scrolls above the live line, which is erased on close', () => {
  const lines = shown(80, (report) => {
    report.onEvent(stepped);
    report.print('hello from the agent\n');
    report.print('no newline');
    report.close();
  });
  expect(lines).toEqual(['hello from the agent', 'no newline', '']);
});

const judged: TrainingEvent = {
  type: 'prompts-judged',
  version: 'v2',
  score: 0.5,
  scoredTasks: 16,
  parents: ['v0', 'v1'],
  bestScore: 0.75,
};
const searching: TrainingEvent = {
  type: 'search-progress',
  rollouts: 30,
  running: 4,
  maxRollouts: 120,
  optimizerCalls: 6,
  maxOptimizerCalls: 12,
  bestScore: 0.75,
};

test('a search reports its versions and the used part of its budget', () => {
  const plain: string[] = [];
  const report = plainReport((line) => plain.push(line));
  for (const event of [judged, searching]) report.onEvent(event);
  report.onEvent({ ...judged, version: 'v0', score: null, parents: [], bestScore: null } as TrainingEvent);
  expect(plain).toEqual([
    'prompts v2  score 0.500 on 16 tasks  from v0 and v1  best 0.750\n',
    'prompts v0  not judged  initial\n',
  ]);
  const lines = shown(100, ({ onEvent }) => {
    onEvent(judged);
    onEvent(searching);
  });
  expect(lines).toEqual([plain[0]?.trim(), `${bar(0.5, 20)}  best 0.75  requests 6  running 4  rollouts 30/120`]);
  const records: string[] = [];
  const json = jsonReport(
    (line) => records.push(line),
    () => undefined,
  );
  for (const event of [judged, searching]) json.onEvent(event);
  expect(records.map((line) => JSON.parse(line))).toEqual([
    { type: 'prompts-judged', version: 'v2', score: 0.5, scoredTasks: 16, parents: ['v0', 'v1'], bestScore: 0.75 },
  ]);
});

test('a bar fills from left to right and never overflows', () => {
  expect(bar(0, 4)).toBe('░░░░');
  expect(bar(0.5, 4)).toBe('██░░');
  expect(bar(2, 4)).toBe('████');
});

test('a curve shows the highest value at the top and fits its width', () => {
  const lines = rewardCurve([0, 1], { width: 10, height: 2 });
  expect(lines).toEqual(['  1.0 │     █████', '  0.0 │     █████']);
  expect(rewardCurve(Array<number>(500).fill(0.5), { width: 20, height: 3 })[0]?.length).toBe(27);
});

test('formats durations and percentages', () => {
  expect([shortDuration(4.4), shortDuration(125), shortDuration(7260)]).toEqual(['4s', '2m 05s', '2h 01m']);
  expect(percent(0.249)).toBe('25%');
});

test('removes line breaks and control characters from untrusted text', () => {
  expect(textTable(['NAME', 'TASK'], [['two\nlines', '\u001b[2Jgone']])).toEqual([
    'NAME       TASK',
    'two lines  \uFFFD[2Jgone',
  ]);
  const version = (name: string, template: string): JudgedPrompts => ({
    version: name,
    prompts: { sorting: { resourceType: 'prompt_template', template, engine: 'f-string' } },
    parents: [],
    score: null,
    scoredTasks: 0,
    taskScores: [],
  });
  const shown = diffLines(version('v0', 'plain'), version('v1', 'plain\n\u009b2Jgone'), {}).join('\n');
  expect(shown).toContain('\uFFFD2Jgone');
});

test.each([
  ['worse', 'The agent got worse.'],
  ['not-significant', 'No difference shown.'],
] as const)('the verdict %s is a sentence, followed by what it does not show', (verdict, sentence) => {
  const evaluation = { reward: 0.5, ci95: [0.4, 0.6] as const, rollouts: 90, failed: 0, missing: 0 };
  const summary: TrainingSummary = {
    runId: 'run-1',
    before: evaluation,
    after: evaluation,
    verdict,
    caveats: ['a part fell'],
    isImproved: false,
    pValue: 0.001,
    missingShare: 0,
    rewardCurve: [],
    seconds: 1,
    exampleBefore: null,
    exampleAfter: null,
    dataDir: '.agl',
    storeUrl: 'sqlite:.agl/agl.db',
  };
  const text = summaryText(summary, { before: null, after: null }, { command: 'agl', resume: null });
  const [, first, second] = stripVTControlCharacters(text).split('\n');
  expect([first, second]).toEqual([expect.stringContaining(sentence), 'But a part fell.']);
});

test('a run with too many missing rewards ends without a verdict', () => {
  const evaluation = { reward: 0.5, ci95: [0.4, 0.6] as const, rollouts: 90, failed: 0, missing: 10 };
  const summary: TrainingSummary = {
    runId: 'run-1',
    before: evaluation,
    after: { ...evaluation, reward: 0.9 },
    verdict: 'undecided',
    caveats: [],
    isImproved: null,
    pValue: 0.001,
    missingShare: 0.1,
    rewardCurve: [],
    seconds: 1,
    exampleBefore: null,
    exampleAfter: null,
    dataDir: '.agl',
    storeUrl: 'sqlite:.agl/agl.db',
  };
  const text = summaryText(summary, { before: null, after: null }, { command: 'agl', resume: null });
  expect(stripVTControlCharacters(text)).toContain('No verdict: the held-out reward of 10% of the tasks is missing.');
  expect(text).toContain('90 rollouts, 10 missing');
  const lines: string[] = [];
  jsonReport(
    (line) => lines.push(line),
    () => undefined,
  ).onEvent({ type: 'finished', summary });
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    type: 'finished',
    summary: { isImproved: null, missingShare: 0.1 },
  });
});
