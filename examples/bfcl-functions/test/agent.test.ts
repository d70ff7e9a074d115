import { expect, test } from 'vitest';
import { checkCalls } from '../checker/check-calls.ts';
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

const call = (name: string, json: string) => [{ name, arguments: json }];

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

test.each([
  ['all right', call('geometry_triangle_area', '{"base": 10, "height": 5.5, "unit": "Units."}'), true, 1],
  ['an optional argument is absent', call('geometry_triangle_area', '{"base": 10, "height": 5.5}'), true, 1],
  ['a float instead of an integer', call('geometry_triangle_area', '{"base": 10.0, "height": 5.5}'), false, 0.8],
  ['one of two is missing', call('geometry_triangle_area', '{"base": 10}'), false, 0.8],
  [
    'the call is made twice',
    [...call('geometry_triangle_area', '{"base": 10, "height": 5.5}'), ...call('a', '{}')],
    false,
    1,
  ],
  ['another function', call('area', '{"base": 10, "height": 5.5}'), false, 0.2],
  ['arguments that are not JSON', call('geometry_triangle_area', '{"base": 10'), false, 0.2],
  ['no call', [], false, 0],
] as const)('%s', (_, ...[calls, isCorrect, progress]) => {
  const judged = checkCalls(task, calls);
  expect(judged.isCorrect).toBe(isCorrect);
  expect(judged.progress).toBeCloseTo(progress, 10);
});

test('where no function fits, the right response has no call', () => {
  const irrelevant = { ...task, expected: null };
  expect(checkCalls(irrelevant, []).isCorrect).toBe(true);
  expect(checkCalls(irrelevant, call('geometry_triangle_area', '{}'))).toEqual({ isCorrect: false, progress: 0 });
});
