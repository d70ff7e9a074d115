import { expect, test } from 'vitest';
import type { Rewards } from '../agent.ts';
import type { FunctionCall } from '../checker/check-calls.ts';
import { bfclTask } from '../task.ts';
import { gradeConversation, simulatedResult } from '../two-turns/agent.ts';
import { twoTurnConversation } from '../two-turns/conversation.ts';

const task = bfclTask.parse({
  id: 'multiple_0',
  question: 'What is the area of a square with a side of 3?',
  functions: [
    {
      name: 'square_area',
      description: 'The area of a square.',
      parameters: { type: 'dict', properties: { side: { type: 'integer' } }, required: ['side'] },
    },
  ],
  expected: '{"square_area": {"side": [3]}}',
});

const right = { name: 'square_area', arguments: '{"side": 3}' };
const wrong = { name: 'square_area', arguments: '{"side": 4}' };

const report = (call: FunctionCall): string => `It is ${simulatedResult(call)}.`;

test.each<[string, { readonly call: FunctionCall; readonly answer: string; readonly rewards: Rewards }]>([
  ['the right call, and its result', { call: right, answer: report(right), rewards: { primary: 1, correct: 1 } }],
  ['the right call without its result', { call: right, answer: 'It is 9.', rewards: { primary: 0.5, correct: 0 } }],
  [
    'the result within another number',
    { call: right, answer: `It is 1${simulatedResult(right)}.`, rewards: { primary: 0.5, correct: 0 } },
  ],
  ['a wrong call, and its result', { call: wrong, answer: report(wrong), rewards: { primary: 0.2, correct: 0 } }],
  ['a wrong call without its result', { call: wrong, answer: '', rewards: { primary: 0.1, correct: 0 } }],
])('%s', (_, { call, answer, rewards }) => {
  const { primary, correct } = gradeConversation(task, { calls: [call], answer });
  expect(primary).toBeCloseTo(rewards.primary, 10);
  expect(correct).toBe(rewards.correct);
});

test('where no function fits, the right conversation has one turn', () => {
  const irrelevant = { ...task, expected: null };
  expect(gradeConversation(irrelevant, { calls: [], answer: 'No function fits.' })).toEqual({ primary: 1, correct: 1 });
  expect(gradeConversation(irrelevant, { calls: [right], answer: `${simulatedResult(right)}` }).primary).toBe(0);
  expect(twoTurnConversation(irrelevant).messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
});

test('the demonstration has the highest reward', () => {
  const { messages } = twoTurnConversation(task);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  const answer = String(messages.at(-1)?.['content']);
  expect(gradeConversation(task, { calls: [right], answer })).toEqual({ primary: 1, correct: 1 });
});
