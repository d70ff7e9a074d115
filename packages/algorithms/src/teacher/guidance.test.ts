import type { Algorithm, JsonObject } from '@agentlightning/core';
import type { CollectedGroup, CollectedRollout, StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { describeAlgorithmContract } from '@agentlightning/core/contracts';
import { genAiAttributes, scoredOutputAttributes } from '@agentlightning/core/internal';
import { agentLightningAttributes, spanNames } from '@agentlightning/core/spans';
import { aCollectedRollout, aSpan } from '@agentlightning/core/testing';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, test } from 'vitest';
import { distillation } from '../recipes/distillation.ts';
import { sdpo } from '../recipes/sdpo.ts';
import { createAlgorithm } from '../registry.ts';

const teacher = { run: 'run-1@best' };

describeAlgorithmContract({
  name: 'distillation',
  create: () => distillation({ teacher }),
  needsReward: false,
});
describeAlgorithmContract({
  name: 'distillation with rewards',
  create: () => distillation({ teacher, weight: 0.5 }),
  needsReward: false,
});

const context: StepContext = { step: 1, totalSteps: 10, policyVersion: 2, seed: 1 };
const dataOf = (plan: StepPlan): readonly TrainingDatum[] =>
  plan.updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data));

const request: JsonObject = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Code?' },
  ],
};
const answer = (content: string): JsonObject => ({ choices: [{ message: { role: 'assistant', content } }] });

interface Member {
  readonly rolloutId: string;
  readonly reward: number | null;
  readonly says?: string;
  readonly reason?: string;
  readonly input?: JsonObject;
}

/** A rollout of one call with the prompt 1, 2, 3, and a reason of its score. */
function member({ rolloutId, reward, says = 'x', reason, input }: Member): CollectedRollout {
  const calls = [{ request, response: answer(says), responseTokenIds: [10, 11] }];
  const { rollout, spans, ...rest } = aCollectedRollout({ rolloutId, reward, calls });
  const attributes = scoredOutputAttributes({
    output: says,
    scores: { right: { score: reward, reason: reason ?? null } },
  });
  const scored = aSpan({ name: spanNames.annotation, attributes, rolloutId, attemptId: 'at-1', sequenceId: 9 });
  return {
    ...rest,
    rollout: input === undefined ? rollout : { ...rollout, input },
    spans: reason === undefined ? spans : [...spans, scored],
  };
}

/** Plans with prompts whose feedback has the tokens 7, 8 and 9, and a teacher that differs by `shift` nats. */
function plan(
  algorithm: Algorithm,
  rollouts: readonly CollectedRollout[],
  { shift = 0.5, maxTeacherTokens = 100 }: { readonly shift?: number; readonly maxTeacherTokens?: number } = {},
): { readonly plan: StepPlan; readonly teacherData: readonly TrainingDatum[]; readonly texts: readonly string[] } {
  const groups: readonly CollectedGroup[] = [{ groupId: 'gr-1', rollouts }];
  const requests = algorithm.teacherPrompts?.(groups) ?? [];
  const prompted = { ...context, maxTeacherTokens, prompts: requests.map(() => [1, 2, 7, 8, 9, 3]) };
  const scoring = algorithm.scoring?.(groups, prompted) ?? null;
  const teacherData = scoring?.teacherData ?? [];
  const scores = {
    current: (scoring?.data ?? []).map(({ samplingLogprobs }) => samplingLogprobs),
    teacher: teacherData.map(({ samplingLogprobs }) => samplingLogprobs.map((own) => own + shift)),
  };
  const texts = requests.map(({ messages }) => String(messages.at(-1)?.['content']));
  return { plan: algorithm.planStep(groups, { ...prompted, scores }), teacherData, texts };
}

describe('feedback on a rollout', () => {
  const texts = (rollouts: readonly CollectedRollout[], options = {}): readonly string[] =>
    plan(sdpo({ template: '|{feedback}', ...options }), rollouts).texts;

  test('is appended to the last message of the user', () => {
    const group = [member({ rolloutId: 'ro-1', reward: 0, reason: 'It must be a number.' })];
    expect(texts(group)).toEqual(['Code?|Feedback on an earlier attempt:\nIt must be a number.']);
  });

  test('has messages and the errors of tools, in the order of the sources', () => {
    const [rollout] = [member({ rolloutId: 'ro-1', reward: 0 })];
    const ids = { rolloutId: 'ro-1', attemptId: 'at-1' };
    const error = aSpan({
      ...ids,
      sequenceId: 8,
      attributes: { [agentLightningAttributes.stepKind]: 'tool-call', [genAiAttributes.toolName]: 'search' },
      status: { code: 'ERROR', message: 'no index' },
    });
    const message = aSpan({
      ...ids,
      sequenceId: 9,
      name: spanNames.message,
      attributes: { [agentLightningAttributes.messageBody]: 'Too long.' },
    });
    const spans = [...rollout.spans, error, message];
    expect(texts([{ ...rollout, spans }])).toEqual([
      'Code?|Feedback on an earlier attempt:\nToo long.\nsearch: no index',
    ]);
    expect(texts([{ ...rollout, spans }], { feedback: ['errors'] })[0]).toMatch(/attempt:\nsearch: no index$/);
  });

  test('has what a sibling said that solved the task, and not what the rollout said itself', () => {
    const group = [
      member({ rolloutId: 'ro-1', reward: 0, says: 'wrong' }),
      member({ rolloutId: 'ro-2', reward: 1, says: 'right' }),
    ];
    expect(texts(group)).toEqual(['Code?|A correct response:\nright']);
    expect(texts(group, { successReward: 2 })).toEqual([]);
  });

  test('has the demonstration of the task', () => {
    const input = { question: 'Code?', demonstration: [{ role: 'assistant', content: 'ABC' }] };
    expect(texts([member({ rolloutId: 'ro-1', reward: 0, input })])).toEqual(['Code?|A correct response:\nABC']);
  });
});

describe('the rows of the teacher', () => {
  const rollouts = [member({ rolloutId: 'ro-1', reward: 0, reason: 'No.' }), member({ rolloutId: 'ro-2', reward: 0 })];

  test('have the response after the prompt with feedback; rollouts without feedback have none', () => {
    const { teacherData, plan: planned } = plan(sdpo(), rollouts);
    expect(teacherData.map(({ tokenIds, trained }) => [[...tokenIds], trained])).toEqual([
      [[1, 2, 7, 8, 9, 3, 10, 11], [{ start: 6, end: 8 }]],
    ]);
    expect(planned.metrics).toMatchObject({
      'teacher/rollouts': 1,
      'teacher/without_feedback': 1,
      'teacher/feedback/reasons': 1,
      'teacher/feedback_cut': 0,
      'teacher/rows_left_out': 0,
    });
  });

  test('lose the middle of feedback that is longer than the context, and a row without any left is left out', () => {
    const cut = plan(sdpo(), rollouts, { maxTeacherTokens: 7 });
    expect(cut.teacherData.map(({ tokenIds }) => [...tokenIds])).toEqual([[1, 2, 7, 9, 3, 10, 11]]);
    expect(cut.plan.metrics).toMatchObject({ 'teacher/feedback_cut': 1, 'teacher/rows_left_out': 0 });
    const without = plan(sdpo(), rollouts, { maxTeacherTokens: 5 });
    expect(without.teacherData).toEqual([]);
    expect(without.plan.metrics).toMatchObject({ 'teacher/rollouts': 0, 'teacher/rows_left_out': 1 });
    expect(without.plan.updates).toEqual([]);
  });
});

describe('the advantage of a token', () => {
  const failed = member({ rolloutId: 'ro-1', reward: 0, reason: 'No.' });
  const solved = member({ rolloutId: 'ro-2', reward: 1 });
  const dr = { advantage: { type: 'dr-grpo' }, feedback: ['reasons'] } as const;

  test('is the difference from the teacher; without feedback it is that of the reward', () => {
    const data = dataOf(plan(sdpo(dr), [failed, solved]).plan);
    for (const value of data[0]?.advantages ?? []) expect(value).toBeCloseTo(0.5, 5);
    expect([...(data[1]?.advantages ?? [])]).toEqual([0.5, 0.5]);
  });

  test('is a mixture with that of the reward, by weight', () => {
    const data = dataOf(plan(sdpo({ ...dr, weight: 0.3 }), [failed, solved], { shift: 2 }).plan);
    for (const value of data[0]?.advantages ?? []) expect(value).toBeCloseTo(0.7 * -0.5 + 0.3 * 2, 5);
  });

  test('is clipped, which the metrics count', () => {
    const { plan: planned } = plan(sdpo({ ...dr, clip: 1 }), [failed], { shift: -3 });
    expect([...(dataOf(planned)[0]?.advantages ?? [])]).toEqual([-1, -1]);
    expect(planned.metrics['teacher/clipped']).toBe(1);
    expect(planned.metrics['teacher/kl']).toBeCloseTo(3, 5);
  });

  test('trains a rollout without a reward where the teacher scores it', () => {
    const silent = member({ rolloutId: 'ro-1', reward: null, reason: 'No.' });
    const { plan: planned } = plan(sdpo(dr), [silent]);
    expect(dataOf(planned)).toHaveLength(1);
    expect(planned.metrics['advantage/zero_share']).toBe(0);
  });

  test('of distillation compares the rows themselves', () => {
    const { teacherData, plan: planned } = plan(distillation({ teacher }), [failed, solved]);
    expect(teacherData.map(({ tokenIds }) => [...tokenIds])).toEqual([
      [1, 2, 3, 10, 11],
      [1, 2, 3, 10, 11],
    ]);
    for (const { advantages } of dataOf(planned)) for (const value of advantages) expect(value).toBeCloseTo(0.5, 5);
  });
});

describe('options', () => {
  test.each([
    [{ type: 'sdpo', teacher: 'ema' }, /teacher: .*exponentially averaged/],
    [{ type: 'sdpo', template: 'Hint.' }, /template: must contain \{feedback\}/],
    [{ type: 'sdpo', weight: 0 }, /weight: must be more than 0/],
    [{ type: 'sdpo', dropConstantGroups: true }, /dropConstantGroups: a group with equal rewards/],
    [{ type: 'distillation' }, /teacher: is missing; it must be \{ run/],
    [{ type: 'distillation', teacher: { run: '' } }, /teacher/],
  ])('%j is refused by name', (options, message) => {
    expect(() => createAlgorithm(options as never)).toThrow(message);
  });
});
