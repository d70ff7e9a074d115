import type { Span, SpanInput } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { spanNames } from '@agentlightning/core/spans';
import { aModelCallSpan, aRewardSpan, aRollout, aSpan } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { grpo } from '../recipes/policy-gradient-recipes.ts';
import type { RewardRule } from '../transition/reward-rule.ts';
import { transitionsFromSpans } from '../transition/transitions-from-spans.ts';
import { air } from './automatic-intermediate-rewards.ts';

/** A tool call as adapters record it. */
function toolSpan(
  sequenceId: number,
  fields: { name?: string; args?: string; id?: string; isError?: boolean } = {},
): Span {
  const { name = 'search', args = '{}', id, isError = false } = fields;
  return aSpan({
    sequenceId,
    status: isError ? { code: 'ERROR', message: 'it failed' } : { code: 'OK', message: null },
    attributes: {
      'agentlightning.step.kind': 'tool-call',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.arguments': args,
      ...(id === undefined ? {} : { 'gen_ai.tool.call.id': id }),
    },
  });
}

const call = (sequenceId: number, response: Readonly<Record<string, unknown>> | null = null): Span =>
  aModelCallSpan({ sequenceId, response: JSON.parse(JSON.stringify(response)) });
const saying = (sequenceId: number, content: string): Span => call(sequenceId, { choices: [{ message: { content } }] });

/** The reward of each turn, by sequence id of its model call. */
function rewardsBy(rules: readonly RewardRule[], spans: readonly Span[]): Readonly<Record<number, number | null>> {
  const { transitions } = transitionsFromSpans(spans, { intermediateRewards: rules });
  return Object.fromEntries(transitions.map(({ sequenceId, reward }) => [sequenceId, reward]));
}

describe('rules', () => {
  test('reward a tool that worked and one that failed, of any name or of one', () => {
    const spans = [call(1), toolSpan(2), call(3), toolSpan(4, { name: 'order', isError: true }), call(5)];
    expect(rewardsBy([air.onToolSuccess(0.25), air.onToolFailure(-1)], spans)).toEqual({ 1: 0.25, 3: -1, 5: null });
    expect(rewardsBy([air.onToolFailure(-1, { tool: 'search' })], spans)).toEqual({ 1: null, 3: null, 5: null });
  });

  test('find a call that repeats an earlier one, arguments and all', () => {
    const spans = [call(1), toolSpan(2), toolSpan(3, { args: '{"q":1}' }), call(4), toolSpan(5), call(6)];
    expect(rewardsBy([air.onRepeatedCall(-0.5)], spans)).toEqual({ 1: null, 4: -0.5, 6: null });
  });

  test('judge the form of what the model says, and nothing where it says nothing', () => {
    const rule = air.onFormat(/^\{.*\}$/gs, { match: 1, mismatch: -1 });
    const spans = [saying(1, '{"a":1}'), saying(2, 'well'), call(3, { choices: [{ message: { content: null } }] })];
    expect(rewardsBy([rule], spans)).toEqual({ 1: 1, 2: -1, 3: null });
  });

  test('know how long a tool took', () => {
    const slow = { ...toolSpan(2), startTimeMs: 0, endTimeMs: 900 };
    expect(rewardsBy([air.onSlowTool(-1, { aboveMs: 500 })], [call(1), slow])).toEqual({ 1: -1 });
    expect(rewardsBy([air.onSlowTool(-1, { aboveMs: 1000 })], [call(1), slow])).toEqual({ 1: null });
  });

  test('may be anything that a predicate says of a model call', () => {
    const rule = air.when('is last', (own, { modelCalls }) => own === modelCalls.at(-1), 2);
    expect(rewardsBy([rule], [call(1), call(2)])).toEqual({ 1: null, 2: 2 });
  });

  test('add to what the agent emitted, and leave the reward of the rollout unchanged', () => {
    const spans = [call(1), toolSpan(2), aRewardSpan(1, { sequenceId: 3 })];
    const { transitions, finalReward } = transitionsFromSpans(spans, { intermediateRewards: [air.onToolSuccess(0.5)] });
    expect([transitions[0]?.reward, finalReward]).toEqual([1.5, 1]);
  });

  test('must give finite numbers to spans of the attempt', () => {
    const bad = (verdict: { spanId: string; value: number }): RewardRule => ({ name: 'bad', judge: () => [verdict] });
    for (const verdict of [
      { spanId: 'elsewhere', value: 1 },
      { spanId: call(1).spanId, value: Number.NaN },
    ]) {
      expect(() => rewardsBy([bad(verdict)], [call(1)])).toThrow(expect.objectContaining({ code: 'INVALID_REWARD' }));
    }
  });
});

test('a tool call belongs to the answer that asked for it, however late its span arrived', () => {
  const asking = call(1, { choices: [{ message: { tool_calls: [{ id: 'call_7', type: 'function' }] } }] });
  const spans = [asking, call(2), toolSpan(3, { id: 'call_7' })];
  expect(rewardsBy([air.onToolSuccess(1)], spans)).toEqual({ 1: 1, 2: null });
});

describe('in the trace', () => {
  const rollout: CollectedRollout = {
    rollout: aRollout({ rolloutId: 'ro-1' }),
    attemptId: 'at-1',
    spans: [call(1), toolSpan(2), aRewardSpan(1, { sequenceId: 3 })],
  };
  const algorithm = grpo({
    intermediateRewards: [air.onToolSuccess(0.5), air.onToolSuccess(0.25, { tool: 'search' })],
  });

  test('every reward is a span beside the step it judges, with the name of its rule', () => {
    const annotations = algorithm.annotate?.(rollout) ?? [];
    expect(annotations.map(({ name, attributes }) => [name, attributes])).toEqual(
      [
        ['tool success', 0.5],
        ['tool success of search', 0.25],
      ].map(([name, value]) => [
        spanNames.intermediateReward,
        {
          'agentlightning.reward.0.name': name,
          'agentlightning.reward.0.value': value,
          'agentlightning.link.0.key_match': 'span_id',
          'agentlightning.link.0.value_match': rollout.spans[1]?.spanId,
        },
      ]),
    );
  });

  test('the same rollout gives the same spans, each with its own id', () => {
    const ids = (algorithm.annotate?.(rollout) ?? []).map(({ spanId }) => spanId);
    expect((algorithm.annotate?.(rollout) ?? []).map(({ spanId }) => spanId)).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
  });

  test('two policies with rules of one name each show what theirs say', () => {
    const annotate = (value: number): readonly SpanInput[] =>
      grpo({ intermediateRewards: [air.onToolSuccess(value)] }).annotate?.(rollout) ?? [];
    const [one, other] = [annotate(0.5), annotate(0.25)];
    expect(new Set([...one, ...other].map(({ spanId }) => spanId)).size).toBe(2);
    expect(annotate(0.5)).toEqual(one);
  });

  test('a policy shows nothing of steps that another one took', () => {
    const annotate = (agent: string): readonly SpanInput[] =>
      grpo({ agents: [agent], intermediateRewards: [air.onToolSuccess(1)] }).annotate?.({
        ...rollout,
        spans: [aModelCallSpan({ sequenceId: 1, agentName: 'writer' }), toolSpan(2)],
      }) ?? [];
    expect(annotate('writer')).toHaveLength(1);
    expect(annotate('critic')).toEqual([]);
  });

  test('they are no rewards of the attempt: training on the annotated trace is the same', () => {
    const annotated = (algorithm.annotate?.(rollout) ?? []).map((span, index) => ({ ...span, sequenceId: 4 + index }));
    const rules = { intermediateRewards: [air.onToolSuccess(0.5)] };
    expect(transitionsFromSpans([...rollout.spans, ...annotated], rules)).toEqual(
      transitionsFromSpans(rollout.spans, rules),
    );
  });
});
