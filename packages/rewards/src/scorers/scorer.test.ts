import { AgentLightningError } from '@agentlightning/core';
import { createScorer as createMastraScorer } from '@mastra/core/evals';
import { ExactMatch, Levenshtein, NumericDiff } from 'autoevals';
import { createScorer as createEvaliteScorer } from 'evalite';
import { exactMatch } from 'openevals';
import { afterEach, expect, test, vi } from 'vitest';
import { StructuredOutputJudge } from 'vitest-evals';
import { rewards } from '../rewards.ts';
import { scorer } from './scorer.ts';

const task = { question: 'Capital of France?', answer: 'Paris' };

afterEach(() => vi.doUnmock('promptfoo'));

test('autoevals', async () => {
  expect(await scorer(ExactMatch).score({ task, output: 'Paris' })).toEqual({ score: 1 });
  expect(await scorer(Levenshtein).score({ task, output: 'Pari' })).toEqual({ score: 0.8 });
  const difference = scorer(NumericDiff, { expected: () => 10, output: (output: string) => Number(output) });
  expect(await difference.score({ task, output: '10' })).toEqual({ score: 1 });
});

test('evalite, created and inline', async () => {
  const definition = {
    name: 'same',
    scorer: ({ input, output, expected }: { input: string; output: string; expected?: string }) => ({
      score: output === expected ? 1 : 0,
      metadata: { rationale: `${input} ${output}` },
    }),
  };
  for (const each of [createEvaliteScorer<string, string>(definition), definition]) {
    expect(await scorer(each).score({ task, output: 'Paris' })).toEqual({
      score: 1,
      reason: 'Capital of France? Paris',
    });
  }
});

test('Mastra', async () => {
  const created = createMastraScorer({ id: 'same', description: 'Compares the answer.' })
    .generateScore(({ run }) => (run.output === run.groundTruth ? 1 : 0))
    .generateReason(({ run, score }) => `${JSON.stringify(run.input)}: ${score}`);
  expect(await scorer(created).score({ task, output: 'Paris' })).toEqual({
    score: 1,
    reason: '"Capital of France?": 1',
  });
});

test('openevals and LangSmith', async () => {
  expect(await scorer(exactMatch).score({ task, output: 'Rome' })).toEqual({ score: false });
  const evaluator = ({ outputs, referenceOutputs }: { outputs: string; referenceOutputs?: string }) => ({
    key: 'same',
    score: outputs === referenceOutputs,
    comment: 'compared',
  });
  expect(await scorer(evaluator).score({ task, output: 'Paris' })).toEqual({ score: true, reason: 'compared' });
  expect(await scorer(() => [0.5, 'half'] as const).score({ task, output: '' })).toEqual({
    score: 0.5,
    reason: 'half',
  });
});

test('vitest-evals', async () => {
  const fields = scorer(StructuredOutputJudge({ expected: { city: 'Paris' } }), { expected: () => undefined });
  expect(await fields.score({ task, output: { city: 'Paris' } })).toMatchObject({ score: 1 });
  expect(await fields.score({ task, output: { city: 'Rome' } })).toMatchObject({
    score: 0,
    reason: expect.any(String),
  });
  const byTask = scorer<typeof task>(StructuredOutputJudge(), { expected: ({ answer }) => ({ city: answer }) });
  expect(await byTask.score({ task, output: { city: 'Paris' } })).toMatchObject({ score: 1 });
});

// The package has 600 dependencies: its documented Node API is scripted.
test('promptfoo', async () => {
  const requests: unknown[] = [];
  vi.doMock('promptfoo', () => ({
    assertions: {
      runAssertion: async (request: object) => {
        requests.push(request);
        return { pass: true, score: 1, reason: 'Assertion passed' };
      },
    },
  }));
  const assertion = { type: 'contains', value: '{{answer}}' };
  expect(await scorer(assertion).score({ task, output: 'Paris!' })).toEqual({ score: 1, reason: 'Assertion passed' });
  expect(requests).toEqual([
    {
      assertion,
      test: { vars: { ...task, input: task.question, expected: 'Paris' } },
      providerResponse: { output: 'Paris!' },
    },
  ]);
});

test('promptfoo that is not installed is named', async () => {
  vi.doMock('promptfoo', () => {
    throw new Error('not found');
  });
  await expect(scorer({ type: 'contains', value: 'x' }).score({ task, output: '' })).rejects.toMatchObject({
    code: 'CONFIG',
    remedy: 'npm install promptfoo',
  });
});

test('functions receive the rollout, and give every shape of a result', async () => {
  const results: readonly (readonly [unknown, unknown])[] = [
    [true, { score: true }],
    [0.2, { score: 0.2 }],
    [null, { score: null }],
    [
      { score: 0.5, reason: 'half' },
      { score: 0.5, reason: 'half' },
    ],
    [
      { pass: false, reason: 'no' },
      { score: false, reason: 'no' },
    ],
    [
      { score: null, metadata: { rationale: 'unclear' } },
      { score: null, reason: 'unclear' },
    ],
    [[{ key: 'a', score: 1, comment: 'first' }], { score: 1, reason: 'first' }],
  ];
  for (const [result, expected] of results) {
    expect(await scorer(() => result).score({ task, output: '' })).toEqual(expected);
  }
  const named = scorer<typeof task, { text: string; at: number }>(
    ({ input, output, expected }: { input: unknown; output: unknown; expected: unknown }) =>
      input === 'question' && output === 'text' && expected === 'Paris',
    { input: () => 'question', output: ({ text }) => text },
  );
  expect(await named.score({ task, output: { text: 'text', at: 1 } })).toEqual({ score: true });
});

test('a result without a score, and a value that is not a scorer, are named errors', async () => {
  for (const result of [undefined, {}, 'good', [], { score: '1' }]) {
    const error: unknown = await scorer(() => result)
      .score({ task, output: '' })
      .catch((thrown: unknown) => thrown);
    expect(AgentLightningError.isInstance(error) && error.code).toBe('INVALID_REWARD');
  }
  expect(() => scorer({} as unknown as () => number)).toThrow(/Not a scorer/);
  expect(() => rewards({ correct: 'exact' as unknown as () => number })).toThrow(/"correct"/);
  expect(() => rewards({})).toThrow(/parts/);
  expect(() => rewards({ a: () => 1 }, { primary: 'b' })).toThrow(/primary.*"b"/);
});

test('rewards takes parts, scorers and functions', async () => {
  interface Task {
    readonly answer: string;
  }
  const reward = rewards<Task, string>(
    {
      correct: ({ task: { answer }, output }) => output === answer,
      similar: scorer(Levenshtein, { weight: 0.3 }),
      inline: { name: 'inline', scorer: () => 1 },
    },
    { primary: 'similar', range: [0, 2] },
  );
  expect(reward).toMatchObject({ primary: 'similar', range: [0, 2], parts: { similar: { weight: 0.3 } } });
  const rollout = {
    task: { answer: 'Paris' },
    output: 'Paris',
    rolloutId: 'ro-1',
    mode: null,
    spans: async () => [],
    signal: new AbortController().signal,
  };
  expect(await reward.parts['correct']?.score?.(rollout)).toEqual({ score: true });
  expect(await reward.parts['inline']?.score?.(rollout)).toEqual({ score: 1 });
});
