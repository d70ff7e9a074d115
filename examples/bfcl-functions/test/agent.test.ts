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
  [string, { readonly calls: readonly FunctionCall[]; readonly isCorrect: boolean; readonly progress: number }]
>([
  ['all right', { calls: right, isCorrect: true, progress: 1 }],
  [
    'an optional argument is present',
    { calls: triangle('{"base": 10, "height": 5.5, "unit": "Units."}'), isCorrect: true, progress: 1 },
  ],
  [
    'a float instead of an integer',
    { calls: triangle('{"base": 10.0, "height": 5.5}'), isCorrect: false, progress: 0.8 },
  ],
  ['one of two is missing', { calls: triangle('{"base": 10}'), isCorrect: false, progress: 0.8 }],
  ['two calls', { calls: [...right, ...right], isCorrect: false, progress: 1 }],
  ['another function', { calls: [{ ...right[0], name: 'area' }], isCorrect: false, progress: 0.2 }],
  ['arguments that are not JSON', { calls: triangle('{"base": 10'), isCorrect: false, progress: 0.2 }],
  ['no call', { calls: [], isCorrect: false, progress: 0 }],
])('%s', (_, { calls, isCorrect, progress }) => {
  const judged = checkCalls(task, calls);
  expect(judged.isCorrect).toBe(isCorrect);
  expect(judged.progress).toBeCloseTo(progress, 10);
});

test('where no function fits, the right response has no call', () => {
  const irrelevant = { ...task, expected: null };
  expect(checkCalls(irrelevant, []).isCorrect).toBe(true);
  expect(checkCalls(irrelevant, triangle('{}'))).toEqual({ isCorrect: false, progress: 0 });
});
