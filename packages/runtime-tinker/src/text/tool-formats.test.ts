import { describe, expect, test } from 'vitest';
import { pythonicFormat } from './pythonic-format.ts';
import { hermesFormat, llama3JsonFormat, mistralFormat, toolFormatOf } from './tool-formats.ts';

const add = ['add', { a: 1, b: [2, 'drei'] }] as const;
const now = ['now', {}] as const;
const nested = JSON.stringify({ name: 'add', arguments: JSON.stringify(add[1]) });

test.each([
  [hermesFormat, '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [2, "drei"]}}\n</tool_call>', '', [add]],
  [
    hermesFormat,
    `Let me see.\n<tool_call>{"name": "now"}</tool_call>\n<tool_call>${nested}</tool_call>`,
    'Let me see.',
    [now, add],
  ],
  [hermesFormat, '<tool_call>{"name": "now", "arguments": {}}', '', [now]],
  [llama3JsonFormat, '{"name": "add", "parameters": {"a": 1, "b": [2, "drei"]}}', '', [add]],
  [llama3JsonFormat, '<|python_tag|>{"name": "now", "parameters": {}}; {"name": "now"}', '', [now, now]],
  [llama3JsonFormat, '{"type": "function", "function": {"name": "now", "parameters": {}}}', '', [now]],
  [llama3JsonFormat, '{"name": "say", "parameters": {"text": "a } \\" {"}}', '', [['say', { text: 'a } " {' }]]],
  [mistralFormat, '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1, "b": [2, "drei"]}}]', '', [add]],
  [mistralFormat, 'Well. [TOOL_CALLS]add[ARGS]{"a": 1, "b": [2, "drei"]}[TOOL_CALLS]now[ARGS]{}', 'Well.', [add, now]],
  [mistralFormat, '[TOOL_CALLS]now[CALL_ID]123456789[ARGS]{}', '', [now]],
  [pythonicFormat, "[add(a=1, b=[2, 'drei']), now()]", '', [add, now]],
  [
    pythonicFormat,
    '[f.g(x=-1.5e3, y=True, z=None, d={"k": (1, "a" \'b\')}, s="\\"ü\\u00e9\\n\\\\")]',
    '',
    [['f.g', { x: -1500, y: true, z: null, d: { k: [1, 'ab'] }, s: '"üé\n\\' }]],
  ],
] as const)('%o reads %s', (format, text, content, calls) => {
  const parsed = format.parse(text);
  expect(parsed.calls.map(({ name, arguments: given }) => [name, JSON.parse(given)])).toEqual(calls);
  expect(parsed.content).toBe(content);
});

test.each([
  [hermesFormat, 'No tool is needed.'],
  [hermesFormat, '<tool_call>{broken}</tool_call>'],
  [hermesFormat, '<tool_call>{"arguments": {}}</tool_call>'],
  [llama3JsonFormat, '{"name": "add", "parameters": {"a": 1}} and so on'],
  [llama3JsonFormat, '{"answer": 3}'],
  [llama3JsonFormat, '{"name": "add", "parameters": '],
  [llama3JsonFormat, ''],
  [mistralFormat, '[TOOL_CALLS] [{]'],
  [mistralFormat, '[TOOL_CALLS]now[ARGS]{'],
  [pythonicFormat, '[1, 2, 3]'],
  [pythonicFormat, '[add(1)]'],
  [pythonicFormat, "[add(a=open('/etc/passwd'))]"],
  [pythonicFormat, '[add(a="unclosed)]'],
  [pythonicFormat, '[add(a=1)] and more'],
  [pythonicFormat, `[f(a=${'['.repeat(400)}`],
  [pythonicFormat, '[]'],
])('%o leaves %s as text', (format, text) => {
  expect(format.parse(text)).toEqual({ content: text, calls: [] });
});

describe('the format of a chat template', () => {
  test.each([
    ['within <tool_call></tool_call> tags', 'hermes'],
    ["{{ '[TOOL_CALLS] [' }}", 'mistral'],
    ['<|python_tag|>', 'llama3_json'],
    ['[func_name1(params_name1=params_value1, ...)]', 'pythonic'],
    ['nothing of the kind', 'hermes'],
  ])('%s is %s', (template, name) => {
    expect(toolFormatOf(template).name).toBe(name);
  });
});
