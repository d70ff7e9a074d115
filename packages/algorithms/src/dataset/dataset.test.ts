import type { JsonObject, Span } from '@agentlightning/core';
import type { CollectedGroup, CollectedRollout } from '@agentlightning/core/algorithm';
import { aCollectedRollout, aModelCallSpan, aRewardSpan, aRollout, aSpan } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { fineTuneExamples } from './fine-tune-examples.ts';
import { preferenceExamples } from './preference-examples.ts';

const system = { role: 'system', content: 'Be brief.' };
const question = { role: 'user', content: 'How many?' };
const toolCall = { id: 'call_1', type: 'function', function: { name: 'count', arguments: '{}' } };
const asking = { role: 'assistant', content: null, tool_calls: [toolCall] };
const found = { role: 'tool', tool_call_id: 'call_1', content: '3' };
const tools = [{ type: 'function', function: { name: 'count', parameters: { type: 'object' } } }];
const saying = (content: string): JsonObject => ({ role: 'assistant', content });

/** A call that asked with these messages, with the tool when it is to have one, and was answered with the last. */
function call(sequenceId: number, said: readonly JsonObject[], withTools: boolean = false): Span {
  return aModelCallSpan({
    sequenceId,
    request: { model: 'tiny', messages: said.slice(0, -1), ...(withTools ? { tools } : {}) },
    response: { choices: [{ index: 0, message: { ...said.at(-1), refusal: null }, finish_reason: 'stop' }] },
  });
}

function rollout(rolloutId: string, calls: readonly Span[], reward: number | null): CollectedRollout {
  const rewards = reward === null ? [] : [aRewardSpan(reward, { sequenceId: 99 })];
  return {
    rollout: aRollout({ rolloutId, status: 'succeeded' }),
    attemptId: 'at-1',
    spans: [...calls, ...rewards].map((span) => ({ ...span, rolloutId })),
  };
}

const groupOf = (...rollouts: readonly CollectedRollout[]): CollectedGroup => ({ groupId: 'a', rollouts });

describe('examples for fine-tuning', () => {
  test('include the model calls that only another recorder has', () => {
    const attributes = {
      'langfuse.observation.type': 'generation',
      'langfuse.observation.input': '[{"role":"user","content":"How many?"}]',
      'langfuse.observation.output': '{"role":"assistant","content":"3"}',
    };
    const recorded = aSpan({ sequenceId: 1, attributes });
    expect(fineTuneExamples([groupOf(rollout('ro-1', [recorded], 1))])).toEqual([
      { messages: [question, saying('3')] },
    ]);
  });

  test('have only fields of the format, and compare conversations by value', () => {
    const spaced = { ...toolCall, function: { name: 'count', arguments: '{"b": 1, "a": [2]}' } };
    const compact = { ...toolCall, function: { name: 'count', arguments: '{"a":[2],"b":1}' } };
    const parts = { role: 'user', content: [{ type: 'text', text: 'How many?' }] };
    const turns = [
      call(1, [question, { ...asking, tool_calls: [spaced] }]),
      call(2, [
        parts,
        { ...asking, reasoning_content: 'Look.', audio: null, function_call: null, tool_calls: [compact] },
        { ...found, name: 'count' },
        { ...saying('3'), tool_calls: [] },
      ]),
    ];
    expect(fineTuneExamples([groupOf(rollout('ro-1', turns, 1))])).toEqual([
      { messages: [parts, { role: 'assistant', content: null, tool_calls: [compact] }, found, saying('3')] },
    ]);
  });

  test('a conversation of several turns is one example, with its tools', () => {
    const turns = [
      call(1, [system, question, asking], true),
      call(2, [system, question, { ...asking, content: '' }, found, saying('3')], true),
    ];
    expect(fineTuneExamples([groupOf(rollout('ro-1', turns, 1))])).toEqual([
      { messages: [system, question, { ...asking, content: '' }, found, saying('3')], tools },
    ]);
  });

  test('a call that continues no conversation is a separate example', () => {
    const turns = [call(1, [question, saying('3')]), call(2, [system, question, saying('4')])];
    expect(fineTuneExamples([groupOf(rollout('ro-1', turns, 1))])).toEqual([
      { messages: [question, saying('3')] },
      { messages: [system, question, saying('4')] },
    ]);
  });

  test('what an assistant says in the prompt is not learnt', () => {
    const shown = [question, saying('2'), question];
    const turns = [call(1, [...shown, saying('3')]), call(2, [...shown, saying('3'), question, saying('4')])];
    const [example] = fineTuneExamples([groupOf(rollout('ro-1', turns, 1))]);
    expect(example?.messages.map((message) => message['weight'])).toEqual([
      undefined,
      0,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('only good rollouts that succeeded are taken, the best of each task', () => {
    const say = (rolloutId: string, reward: number | null): CollectedRollout =>
      rollout(rolloutId, [call(1, [question, saying(rolloutId)])], reward);
    const failed = { ...say('ro-4', 1), rollout: aRollout({ rolloutId: 'ro-4', status: 'failed' }) };
    const groups = [groupOf(say('ro-1', 0.5), say('ro-2', 0.9), say('ro-3', null), failed)];
    const said = (...given: Parameters<typeof fineTuneExamples>): readonly unknown[] =>
      fineTuneExamples(...given).map(({ messages }) => messages.at(-1)?.['content']);
    expect(said(groups)).toEqual(['ro-1', 'ro-2', 'ro-3']);
    expect(said(groups, { keepBest: 1 })).toEqual(['ro-2']);
    expect(said(groups, { minReward: 0.4 })).toEqual(['ro-2', 'ro-1']);
  });

  test('calls without bodies, and answers that broke off, are left out', () => {
    const brokenOff = aModelCallSpan({
      sequenceId: 2,
      request: { messages: [question] },
      response: { choices: [{ message: saying('3') }] },
      choices: [{ index: 0, responseTokenIds: [1], responseLogprobs: [-1], finishReason: null }],
    });
    expect(fineTuneExamples([groupOf(rollout('ro-1', [brokenOff], 1), aCollectedRollout({ reward: 1 }))])).toEqual([]);
  });
});

describe('examples for preference tuning', () => {
  test('are where the best and the worst rollout first differ', () => {
    const same = call(1, [question, asking], true);
    const later = [question, asking, found];
    const good = rollout('ro-1', [same, call(2, [...later, saying('3')], true)], 1);
    const bad = rollout('ro-2', [same, call(2, [...later, saying('5')], true)], 0);
    const { examples, withoutCommonPrompt } = preferenceExamples([groupOf(bad, good)]);
    expect(withoutCommonPrompt).toBe(0);
    expect(examples).toEqual([
      { input: { messages: later, tools }, preferred_output: [saying('3')], non_preferred_output: [saying('5')] },
    ]);
  });

  test('need a prompt that both were asked', () => {
    const good = rollout('ro-1', [call(1, [question, saying('3')])], 1);
    const bad = rollout('ro-2', [call(1, [system, question, saying('5')])], 0);
    expect(preferenceExamples([groupOf(good, bad)])).toEqual({ examples: [], withoutCommonPrompt: 1 });
  });
});
