import { aModelCallSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { type StoredEvaluation, summariseRewards } from '../run/stored-evaluation.ts';
import { bestConstantResponse, lastResponse } from './constant-response.ts';

/** Six tasks, of which five are to be answered with "yes". */
function evaluationOf(responses: readonly (string | null)[]): StoredEvaluation {
  const rewards = responses.map((response, task) => (response === (task < 5 ? 'yes' : 'no') ? 1 : 0));
  const rolloutIds = responses.map(String);
  return summariseRewards({ rewards, rolloutIds, failed: 0, rolloutsPerTask: 1, responses }, null);
}

test('the best constant response has the reward of the larger class', () => {
  const before = evaluationOf(['no', 'yes', 'no', 'yes', 'no', 'yes']);
  const after = evaluationOf(['yes', 'yes', 'yes', 'yes', 'yes', 'no']);
  expect(bestConstantResponse([before, after])).toEqual({ text: 'yes', reward: 5 / 6, seenShare: 1 });
  // Tasks without the response count 0.
  expect(bestConstantResponse([before])).toMatchObject({ text: 'yes', reward: 2 / 6, seenShare: 0.5 });
});

test('forms of a response that differ in case, spacing and line ends count as one', () => {
  const forms = [
    '{"answer":"yes"}',
    '{"answer": "Yes"}',
    '{ "answer": "YES" }\n',
    '{"answer":"yes"}',
    '{"answer":\n"yes"}',
    '',
  ];
  const rewards = forms.map((_, task) => (task < 5 ? 1 : 0));
  const measured = { rewards, rolloutIds: forms, failed: 0, rolloutsPerTask: 1, responses: forms };
  expect(bestConstantResponse([measured])).toEqual({ text: forms[0], reward: 5 / 6, seenShare: 5 / 6 });
  // Of forms with different rewards, the exact one counts if it is better.
  const strict = { ...measured, responses: ['yes', 'YES', 'yes', 'yes', 'YES', 'YES'], rewards: [1, 0, 1, 1, 0, 0] };
  expect(bestConstantResponse([strict, strict])).toMatchObject({ text: 'yes', reward: 0.5 });
});

test('a tool call is a response too', () => {
  const call = { id: 'c', type: 'function', function: { name: 'decide', arguments: '{"answer":"yes"}' } };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const span = aModelCallSpan({ response: { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] } });
  expect(lastResponse([span])).toBe('decide({"answer":"yes"})');
});

test('responses that no two tasks share are not constant', () => {
  expect(bestConstantResponse([evaluationOf(['a', 'b', 'c', null, null, 'd'])])).toBeNull();
});

test('the response of a rollout is the text of its last model call', () => {
  const said = (content: string, sequenceId: number) =>
    aModelCallSpan({
      sequenceId,
      spanId: `span-${sequenceId}`,
      response: { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] },
    });
  expect(lastResponse([said('yes', 3), said('let me think', 1)])).toBe('yes');
  expect(lastResponse([said('x'.repeat(300), 1)])).toBeNull();
  expect(lastResponse([])).toBeNull();
});
