import type { Span } from '@agentlightning/core';
import { genAiAttributes } from '@agentlightning/core/internal';
import { linkAttributes, rewardAttributes, spanNames } from '@agentlightning/core/spans';
import { aModelCallSpan, aRewardSpan, aSpan, logprobOf } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { transitionsFromSpans } from './transitions-from-spans.ts';

const call = (sequenceId: number, fields: Parameters<typeof aModelCallSpan>[0] = {}): Span =>
  aModelCallSpan({ sequenceId, ...fields });
const reward = (sequenceId: number, value: number): Span => aRewardSpan(value, { sequenceId });

test('a model call becomes a transition with everything training needs', () => {
  const { transitions, modelCalls, excluded } = transitionsFromSpans([
    call(3, { temperature: 0.7, policyVersion: 5, agentName: 'clerk', agentPath: ['boss', 'clerk'] }),
  ]);
  expect(transitions).toEqual([
    {
      rolloutId: 'ro-1',
      attemptId: 'at-1',
      spanId: expect.any(String),
      sequenceId: 3,
      agentName: 'clerk',
      agentPath: ['boss', 'clerk'],
      promptTokenIds: [1, 2, 3],
      responseTokenIds: [4, 5],
      responseLogprobs: [logprobOf(4), logprobOf(5)],
      temperature: 0.7,
      policyVersion: 5,
      reward: null,
    },
  ]);
  expect([modelCalls, excluded]).toEqual([1, {}]);
});

test('a choice that was sampled while weights were published has the version of each token', () => {
  const choices = [[4, 5], [5, 5], undefined].map((versions, index) => ({
    index,
    responseTokenIds: [6, 7],
    responseLogprobs: [-1, -1],
    finishReason: 'stop',
    ...(versions && { responsePolicyVersions: versions }),
  }));
  const { transitions } = transitionsFromSpans([call(1, { policyVersion: 4, choices })]);
  expect(
    transitions.map(({ policyVersion, responsePolicyVersions }) => [policyVersion, responsePolicyVersions]),
  ).toEqual([
    [4, [4, 5]],
    [5, [5, 5]],
    [4, undefined],
  ]);
});

describe('rewards', () => {
  test('a reward after a call and before the next is the reward of that turn', () => {
    const { transitions, finalReward } = transitionsFromSpans([
      call(1),
      reward(2, 0.25),
      call(3),
      call(4),
      reward(5, 1),
    ]);
    expect(transitions.map((transition) => transition.reward)).toEqual([0.25, null, 1]);
    expect(finalReward).toBe(1);
  });

  test('the clock does not matter, only the sequence id does', () => {
    const early = aRewardSpan(0.5, { sequenceId: 2, startTimeMs: 5, endTimeMs: 5 });
    const { transitions } = transitionsFromSpans([call(3, { startTimeMs: 1, endTimeMs: 2 }), early, call(1)]);
    expect(transitions.map((transition) => transition.reward)).toEqual([0.5, null]);
  });

  test('several rewards of one turn are added up', () => {
    const { transitions } = transitionsFromSpans([call(1), reward(2, 0.25), reward(3, 0.5), call(4), reward(5, 1)]);
    expect(transitions.map((transition) => transition.reward)).toEqual([0.75, 1]);
  });

  test('what the agent returns after rewarding its last turn judges the attempt only', () => {
    const { transitions, finalReward } = transitionsFromSpans([call(1), reward(2, 0.25), reward(3, 0.9)]);
    expect(transitions.map((transition) => transition.reward)).toEqual([0.25]);
    expect(finalReward).toBe(0.9);
  });

  test('no reward is null, and a reward of 0 is 0', () => {
    expect(transitionsFromSpans([call(1)]).finalReward).toBeNull();
    expect(transitionsFromSpans([call(1), reward(2, 0)]).finalReward).toBe(0);
  });

  test('rewards before the first call or after a call that is left out belong to no turn, and are counted', () => {
    const partial = call(2, { isTrainable: false, untrainableReason: 'partial' });
    const { transitions, unassignedRewards } = transitionsFromSpans([
      reward(1, 1),
      partial,
      reward(3, 1),
      call(4),
      reward(5, 0.5),
    ]);
    expect(transitions.map((transition) => transition.reward)).toEqual([0.5]);
    expect(unassignedRewards).toBe(2);
  });

  test('another dimension than the primary one can be learned from', () => {
    const attributes = rewardAttributes([
      { name: 'correct', value: 1 },
      { name: 'brevity', value: 0.3 },
    ]);
    const spans = [call(1), aSpan({ sequenceId: 2, name: spanNames.annotation, attributes })];
    expect(transitionsFromSpans(spans).finalReward).toBe(1);
    expect(transitionsFromSpans(spans, { rewardName: 'brevity' }).finalReward).toBe(0.3);
    expect(transitionsFromSpans(spans, { rewardName: 'style' }).finalReward).toBeNull();
  });
});

describe('what is left out, with counts', () => {
  const bad = Number.NaN;
  const choice = (fields: object): object => ({
    choices: [{ index: 0, responseTokenIds: [4, 5], responseLogprobs: [-1, -1], finishReason: 'stop', ...fields }],
  });

  test.each([
    ['untrainable', 'partial', { isTrainable: false, untrainableReason: 'partial' }],
    ['untrainable without a reason', 'untrainable', { isTrainable: false }],
    ['an empty answer', 'empty_response', choice({ responseTokenIds: [], responseLogprobs: [] })],
    ['an empty prompt', 'no_prompt_tokens', { promptTokenIds: [] }],
    ['no log-probabilities', 'missing_logprobs', choice({ responseLogprobs: [] })],
    ['too few log-probabilities', 'missing_logprobs', choice({ responseLogprobs: [-1] })],
    ['a positive log-probability', 'invalid_logprobs', choice({ responseLogprobs: [-1, 0.5] })],
    // Spans do not carry them, so they are missing.
    ['a log-probability that is not a number', 'missing_logprobs', choice({ responseLogprobs: [-1, bad] })],
    ['temperature 0', 'greedy', { temperature: 0 }],
  ])('%s', (_, reason, fields) => {
    const { transitions, excluded, modelCalls } = transitionsFromSpans([call(1, fields), call(2)]);
    expect(transitions.map(({ sequenceId }) => sequenceId)).toEqual([2]);
    expect(excluded).toEqual({ [reason]: 1 });
    expect(modelCalls).toBe(2);
  });

  test('calls of other agents than those that are trained', () => {
    const spans = [call(1, { agentName: 'writer' }), call(2, { agentName: 'critic' }), call(3)];
    const { transitions, excluded } = transitionsFromSpans(spans, { agents: ['writer'] });
    expect(transitions.map(({ agentName }) => agentName)).toEqual(['writer']);
    const paths = [['boss', 'writer'], ['writer'], null].map((agentPath, index) =>
      call(index + 1, { agentName: 'writer', agentPath }),
    );
    expect(transitionsFromSpans(paths, { agents: ['boss>writer'] }).transitions).toHaveLength(1);
    expect(excluded).toEqual({ other_agent: 2 });
  });

  test('a second record of the same call, but not a second call with the same answer', () => {
    const spans = [call(1, { responseId: 'a' }), call(2, { responseId: 'a' }), call(3, { responseId: 'b' })];
    const { transitions, excluded } = transitionsFromSpans(spans);
    expect(transitions.map(({ sequenceId }) => sequenceId)).toEqual([1, 3]);
    expect(excluded).toEqual({ duplicate: 1 });
  });

  test('calls of an engine that gives every answer the same id, or none, all count', () => {
    const sameId = [call(1, { responseId: 'x' }), call(2, { responseId: 'x', responseTokenIds: [7] })];
    expect(transitionsFromSpans(sameId).transitions).toHaveLength(2);
    const noId = [call(1, { responseId: null }), call(2, { responseId: null })];
    expect(transitionsFromSpans(noId).transitions).toHaveLength(2);
  });
});

test('a log-probability above 0 by rounding becomes 0', () => {
  const choices = [{ index: 0, responseTokenIds: [4], responseLogprobs: [1e-7], finishReason: 'stop' }];
  expect(transitionsFromSpans([call(1, { choices })]).transitions[0]?.responseLogprobs).toEqual([0]);
});

test('every choice of a call with n above 1 is a transition with the reward of the turn', () => {
  const choices = [4, 6].map((tokenId, index) => ({
    index,
    responseTokenIds: [tokenId],
    responseLogprobs: [-1],
    finishReason: 'stop',
  }));
  const { transitions, modelCalls } = transitionsFromSpans([call(1, { choices }), reward(2, 0.5)]);
  expect(transitions.map((each) => [each.responseTokenIds, each.reward])).toEqual([
    [[4], 0.5],
    [[6], 0.5],
  ]);
  expect(modelCalls).toBe(1);
});

test("a framework's span of the same response names the agent that made the call", () => {
  const attributes = { [genAiAttributes.responseId]: 'chatcmpl-9', [genAiAttributes.agentName]: 'planner' };
  const spans = [aSpan({ sequenceId: 1, attributes }), call(2, { responseId: 'chatcmpl-9' })];
  expect(transitionsFromSpans(spans).transitions[0]?.agentName).toBe('planner');
});

test('an adapter reports agents by name and path, also where an engine repeats its ids', () => {
  const step = (sequenceId: number, path: string): Span =>
    aSpan({
      sequenceId,
      attributes: {
        'agentlightning.step.kind': 'model-call',
        'agentlightning.agent.path': path,
        [genAiAttributes.agentName]: path.split('>').at(-1) ?? '',
        [genAiAttributes.responseId]: 'same',
      },
    });
  const spans = [
    call(1, { responseId: 'same' }),
    step(2, 'boss'),
    call(3, { responseId: 'same', responseTokenIds: [7] }),
    step(4, 'boss>clerk'),
    call(5, { responseId: 'same', responseTokenIds: [8] }),
  ];
  const agents = transitionsFromSpans(spans).transitions.map(({ agentName, agentPath }) => [agentName, agentPath]);
  expect(agents).toEqual([
    ['boss', ['boss']],
    ['clerk', ['boss', 'clerk']],
    // The id matches both, so the agent is ambiguous.
    [null, null],
  ]);
});

test('a record that was made inside of an adapter’s step is of its agent, though it has no id', () => {
  const attributes = {
    'agentlightning.step.kind': 'model-call',
    'agentlightning.agent.path': 'clerk',
    [genAiAttributes.agentName]: 'clerk',
  };
  const step = aSpan({ spanId: 'abcdabcdabcdabcd', sequenceId: 2, attributes });
  const record = { ...call(1, { responseId: null }), parentId: step.spanId };
  expect(transitionsFromSpans([record, step]).transitions[0]?.agentPath).toEqual(['clerk']);
});

test('the order in which spans are given does not matter', () => {
  const spans = [call(1), reward(2, 0.25), call(3, { responseTokenIds: [9] }), reward(4, 1), aSpan({ sequenceId: 5 })];
  const expected = transitionsFromSpans(spans);
  fc.assert(
    fc.property(fc.shuffledSubarray(spans, { minLength: spans.length }), (shuffledSpans) => {
      expect(transitionsFromSpans(shuffledSpans)).toEqual(expected);
    }),
  );
});

test('spans of two attempts are refused', () => {
  expect(() => transitionsFromSpans([call(1), call(2, { attemptId: 'at-2' })])).toThrow(
    /spans of 2 attempts \(ro-1\/at-1, ro-1\/at-2\)/,
  );
});

describe('a reward that is linked to a step', () => {
  const linked = (sequenceId: number, value: number, links: Readonly<Record<string, string>>): Span => {
    const span = reward(sequenceId, value);
    return { ...span, attributes: { ...span.attributes, ...linkAttributes(links) } };
  };

  test('is that of the step’s turn, also when it arrived after later turns', () => {
    const first = call(1);
    const spans = [first, call(2), linked(3, 0.5, { span_id: first.spanId }), reward(4, 1)];
    expect(transitionsFromSpans(spans).transitions.map((transition) => transition.reward)).toEqual([0.5, 1]);
  });

  test('finds the call by the id of its answer, and a tool call’s turn by the tool call', () => {
    const tool = aSpan({ sequenceId: 2, attributes: { 'gen_ai.tool.call.id': 'call_1' } });
    const asking = call(1, { responseId: 'answer-1', response: { tool_calls: [{ id: 'call_1' }] } });
    const later = [call(3), call(4)];
    const byAnswer = linked(5, 0.5, { 'gen_ai.response.id': 'answer-1' });
    const byTool = linked(6, 0.25, { 'gen_ai.tool.call.id': 'call_1' });
    const { transitions } = transitionsFromSpans([asking, tool, ...later, byAnswer, byTool, reward(7, 1)]);
    expect(transitions.map((transition) => transition.reward)).toEqual([0.75, null, 1]);
  });

  test('goes by sequence id when what it links to is not there', () => {
    const spans = [call(1), call(2), linked(3, 0.5, { span_id: 'ffffffffffffffff' })];
    expect(transitionsFromSpans(spans).transitions.map((transition) => transition.reward)).toEqual([null, 0.5]);
  });
});

describe('a reward of several dimensions', () => {
  const judged = (sequenceId: number, dimensions: Readonly<Record<string, number>>): Span =>
    aSpan({
      sequenceId,
      name: spanNames.annotation,
      attributes: rewardAttributes(Object.entries(dimensions).map(([name, value]) => ({ name, value }))),
    });

  test('may count as the weighted sum of some of them', () => {
    const spans = [call(1), judged(2, { correct: 1, brevity: 0.5, style: 9 })];
    expect(transitionsFromSpans(spans, { rewardWeights: { correct: 2, brevity: -1 } }).finalReward).toBe(1.5);
  });

  test('is missing when one of them has no value', () => {
    const spans = [call(1), judged(2, { correct: 1, brevity: 1 }), call(3), judged(4, { correct: 1 })];
    const { finalReward, transitions } = transitionsFromSpans(spans, { rewardWeights: { correct: 1, brevity: 1 } });
    expect([finalReward, transitions.map((transition) => transition.reward)]).toEqual([2, [2, null]]);
  });
});

test('a missing reward is null, unless `missingReward` gives its value', () => {
  expect(transitionsFromSpans([call(1)]).finalReward).toBeNull();
  expect(transitionsFromSpans([call(1)], { missingReward: -1 }).finalReward).toBe(-1);
  expect(transitionsFromSpans([call(1), reward(2, 0.5)], { missingReward: -1 }).finalReward).toBe(0.5);
});

test('a transition has the images of its request; without the request it is excluded', () => {
  const url = 'data:image/png;base64,AAAA';
  const request = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] };
  const { transitions, excluded } = transitionsFromSpans([
    call(1, { imageCount: 1, request }),
    call(2, { imageCount: 1, request: null }),
    call(3, { request }),
  ]);
  expect(transitions.map(({ sequenceId, images }) => [sequenceId, images])).toEqual([
    [1, [url]],
    [3, undefined],
  ]);
  expect(excluded).toEqual({ missing_images: 1 });
});
