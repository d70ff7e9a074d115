import type { Span } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { aRollout, aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { exampleRollout, exampleTexts } from './rollout-example.ts';

function aModelCall(sequenceId: number, parts: readonly object[]): Span {
  return aSpan({
    spanId: `m${sequenceId}`,
    sequenceId,
    startTimeMs: 10 - sequenceId,
    attributes: {
      'agentlightning.step.kind': 'model-call',
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]),
    },
  });
}

const call = { type: 'tool_call', id: 'c1', name: 'track', arguments: '{"parcel":"f(1)"}' };
const spans = [
  aModelCall(1, [{ type: 'text', content: ' Delivered. ' }, call]),
  aModelCall(2, [
    { type: 'reasoning', content: 'Hm.' },
    { ...call, name: 'refund', arguments: { order: 7 } },
  ]),
];
const collected: CollectedRollout = {
  rollout: { ...aRollout(), input: { ticket: 'Where?' } },
  attemptId: 'at-1',
  spans,
};

test('a rollout has its task, the last response with text, and the tool calls in order', () => {
  expect(exampleRollout(collected, 0.5)).toEqual({
    reward: 0.5,
    task: { ticket: 'Where?' },
    response: 'Delivered.',
    toolCalls: [
      { name: 'track', arguments: '{"parcel":"f(1)"}' },
      { name: 'refund', arguments: '{"order":7}' },
    ],
  });
  expect(exampleRollout({ ...collected, spans: [] }, 1)).toMatchObject({ response: '', toolCalls: [] });
});

test('a function that fails, or has no usable text, skips the rollout for its prompt only, with the reason', () => {
  const warnings: string[] = [];
  const exampleOf = {
    good: ({ response }: { readonly response: string }) => response,
    broken: (): string => {
      throw new Error('no queue');
    },
    long: () => 'x'.repeat(8001),
    wrong: () => 7 as unknown as string,
  };
  const warn = (message: string): void => void warnings.push(message);
  expect(exampleTexts(collected, 1, { exampleOf, warn })).toEqual({ good: 'Delivered.' });
  expect(warnings).toEqual([
    expect.stringMatching(/"broken".* failed: no queue$/),
    expect.stringMatching(/"long".* more than 8000 characters$/),
    expect.stringMatching(/"wrong".* returned number instead/),
  ]);
});
