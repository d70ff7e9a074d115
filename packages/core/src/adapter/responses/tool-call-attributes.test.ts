import { expect, test } from 'vitest';
import { toolCallAttributes } from './tool-call-attributes.ts';

test('a tool call has attributes for the known fields only', () => {
  expect(toolCallAttributes({ id: 'c1', input: { a: 2 }, output: 'five' })).toEqual({
    'gen_ai.tool.call.id': 'c1',
    'gen_ai.tool.call.arguments': '{"a":2}',
    'gen_ai.tool.call.result': 'five',
  });
  expect(toolCallAttributes({ id: 7, output: null })).toEqual({ 'gen_ai.tool.call.result': 'null' });
});
