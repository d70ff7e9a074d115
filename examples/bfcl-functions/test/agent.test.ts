import { expect, test } from 'vitest';
import { checkCalls, type FunctionCall } from '../checker/check-calls.ts';
import { bfclTask } from '../task.ts';
import { toolsOf } from '../tools.ts';

const task = bfclTask.parse({
  id: 'simple_python_0',
  question: 'What is the area of a triangle with a base of 10 and a height of 5.5?',
  functions: [
    {
      name: 'geometry.triangle_area',
      description: 'The area of a triangle.',
      parameters: {
        type: 'dict',
        properties: {
          base: { type: 'integer' },
          height: { type: 'float', description: 'In units.' },
          unit: { type: 'string' },
        },
        required: ['base', 'height'],
      },
    },
  ],
  expected: '{"geometry.triangle_area": {"base": [10], "height": [5.5], "unit": ["units", ""]}}',
});

const triangle = (json: string) => [{ name: 'geometry_triangle_area', arguments: json }] as const;
const right = triangle('{"base": 10, "height": 5.5}');

test('the functions are tools in the terms of the API', () => {
  expect(toolsOf(task.functions)).toEqual([
    {
      type: 'function',
      function: {
        name: 'geometry_triangle_area',
        description: 'The area of a triangle.',
        parameters: {
          type: 'object',
          properties: {
            base: { type: 'integer' },
            height: { type: 'number', description: 'In units.' },
            unit: { type: 'string' },
          },
          required: ['base', 'height'],
        },
      },
    },
  ]);
});

test.each<
  [string, { readonly calls: readonly FunctionCall[]; readonly progress: number; readonly problem: string | null }]
>([
  ['all right', { calls: right, progress: 1, problem: null }],
  [
    'an optional argument is present',
    { calls: triangle('{"base": 10, "height": 5.5, "unit": "Units."}'), progress: 1, problem: null },
  ],
  [
    'a float instead of an integer',
    { calls: triangle('{"base": 10.0, "height": 5.5}'), progress: 0.8, problem: 'The argument base is wrong.' },
  ],
  [
    'one of two is missing',
    { calls: triangle('{"base": 10}'), progress: 0.8, problem: 'The argument height is missing.' },
  ],
  [
    'an unknown parameter',
    {
      calls: triangle('{"base": 10, "height": 5.5, "width": 2}'),
      progress: 0.85,
      problem: 'There is no parameter width.',
    },
  ],
  ['two calls', { calls: [...right, ...right], progress: 1, problem: 'More than one function was called.' }],
  [
    'another function',
    { calls: [{ ...right[0], name: 'area' }], progress: 0.2, problem: 'area is not the right function.' },
  ],
  [
    'arguments that are not JSON',
    { calls: triangle('{"base": 10'), progress: 0.2, problem: 'The arguments are not valid JSON.' },
  ],
  ['no call', { calls: [], progress: 0, problem: 'No function was called. Call one.' }],
])('%s', (_, { calls, progress, problem }) => {
  const judged = checkCalls(task, calls);
  expect(judged).toEqual({ isCorrect: problem === null, progress: expect.closeTo(progress, 10), problem });
});

test('where no function fits, the right response has no call', () => {
  const irrelevant = { ...task, expected: null };
  expect(checkCalls(irrelevant, []).isCorrect).toBe(true);
  const problem = 'No function fits the question. Do not call one.';
  expect(checkCalls(irrelevant, triangle('{}'))).toEqual({ isCorrect: false, progress: 0, problem });
});
