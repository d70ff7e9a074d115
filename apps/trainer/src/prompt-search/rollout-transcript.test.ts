import type { JsonValue, Span } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { aRollout, aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { rolloutTranscript } from './rollout-transcript.ts';

interface Message {
  readonly role: string;
  readonly content: string;
}

function messages(list: readonly Message[]): string {
  return JSON.stringify(list.map(({ role, content }) => ({ role, parts: [{ type: 'text', content }] })));
}

function aModelCall(sequenceId: number, asked: readonly Message[], answer: string): Span {
  return aSpan({
    spanId: `m${sequenceId}`,
    sequenceId,
    startTimeMs: sequenceId,
    attributes: {
      'agentlightning.step.kind': 'model-call',
      'gen_ai.input.messages': messages(asked),
      'gen_ai.output.messages': messages([{ role: 'assistant', content: answer }]),
    },
  });
}

function collected(input: JsonValue, spans: readonly Span[]): CollectedRollout {
  return { rollout: { ...aRollout(), input }, attemptId: 'at-1', spans };
}

test('contains each message once, tool calls, recorded messages and the failure', () => {
  const first = { role: 'user', content: 'How many bolts?' };
  const second = { role: 'assistant', content: 'Let me look.' };
  const spans = [
    aModelCall(1, [first], 'Let me look.'),
    aSpan({
      spanId: 't',
      sequenceId: 2,
      startTimeMs: 2,
      attributes: {
        'agentlightning.step.kind': 'tool-call',
        'gen_ai.tool.name': 'count',
        'gen_ai.tool.call.arguments': '{"part":"bolt"}',
        'gen_ai.tool.call.result': '7',
      },
    }),
    aModelCall(3, [first, second, { role: 'tool', content: '7' }], 'Seven.'),
    aSpan({
      spanId: 'n',
      sequenceId: 4,
      startTimeMs: 4,
      name: 'agentlightning.message',
      attributes: { 'agentlightning.message.body': 'Digits were asked for.' },
    }),
  ];
  expect(rolloutTranscript(collected({ question: 'bolts' }, spans), { failure: 'too late' }).split('\n')).toEqual([
    'Task: {"question":"bolts"}',
    'user: How many bolts?',
    'assistant: Let me look.',
    'tool count({"part":"bolt"}) gave: 7',
    'tool: 7',
    'assistant: Seven.',
    'message: Digits were asked for.',
    'The agent failed: too late',
  ]);
});

test('what is too long keeps its beginning and its end', () => {
  const text = rolloutTranscript(collected('x'.repeat(20_000), []), { failure: 'in the end' });
  expect(text.length).toBeLessThan(8100);
  expect(text).toMatch(/^Task: "xxx[\s\S]*\[… 12\d{3} characters left out …\][\s\S]*The agent failed: in the end$/);
});

test('contains the scores of the parts of the reward, with their reasons', () => {
  const scores = { correct: { score: 0, reason: 'expected 7' }, tone: { score: null, reason: null } };
  const attributes = { 'agentlightning.scores': JSON.stringify(scores) };
  const span = aSpan({ name: 'agentlightning.annotation', attributes });
  expect(rolloutTranscript(collected('bolts', [span]), { failure: null }).split('\n')).toEqual([
    'Task: "bolts"',
    'score of correct: 0 (expected 7)',
    'score of tone: none',
  ]);
});
