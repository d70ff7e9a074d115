import { expect, test } from 'vitest';
import { modelRequestAttributes, modelResponseAttributes } from './model-call-attributes.ts';

const sum = { name: 'add', arguments: '{"a":2}' };

test('equivalent Chat Completions and Responses requests have the same attributes', () => {
  const tools = [{ type: 'function', function: { name: 'add' } }];
  const chat = modelRequestAttributes({
    model: 'tiny',
    temperature: 0.5,
    max_tokens: 9,
    tools,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: sum }] },
      { role: 'tool', tool_call_id: 'c1', content: '5' },
    ],
  });
  const responses = modelRequestAttributes({
    model: 'tiny',
    temperature: 0.5,
    max_output_tokens: 9,
    tools,
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b.png' }] },
      { type: 'function_call', call_id: 'c1', ...sum },
      { type: 'function_call_output', call_id: 'c1', output: '5' },
    ],
  });
  expect(responses).toEqual(chat);
  expect(chat).toMatchObject({ 'gen_ai.request.model': 'tiny', 'gen_ai.request.max_tokens': 9 });
  expect(JSON.parse(String(chat['gen_ai.input.messages']))[1]).toEqual({
    role: 'user',
    parts: [{ type: 'uri', modality: 'image', uri: 'https://a.example/b.png' }],
  });
});

test('a response has attributes for its id, messages and usage', () => {
  const parts = [
    { type: 'reasoning', content: 'Hm.' },
    { type: 'text', content: 'Let me see.' },
    { type: 'tool_call', id: 'c1', ...sum },
  ];
  const chat = modelResponseAttributes({
    id: 'chatcmpl-1',
    choices: [
      {
        message: {
          role: 'assistant',
          content: 'Let me see.',
          reasoning_content: 'Hm.',
          tool_calls: [{ id: 'c1', type: 'function', function: sum }],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 7, completion_tokens: 3 },
  });
  expect(chat).toMatchObject({
    'gen_ai.response.id': 'chatcmpl-1',
    'gen_ai.response.finish_reasons': ['tool_calls'],
    'gen_ai.usage.input_tokens': 7,
    'gen_ai.usage.output_tokens': 3,
  });
  const responses = modelResponseAttributes({
    id: 'resp_1',
    output: [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] },
      { type: 'function_call', call_id: 'c1', ...sum },
    ],
    usage: { input_tokens: 7, output_tokens: 3 },
  });
  expect(responses).toMatchObject({ 'gen_ai.response.id': 'resp_1', 'gen_ai.usage.output_tokens': 3 });
  for (const recorded of [chat, responses]) {
    expect(JSON.parse(String(recorded['gen_ai.output.messages']))).toMatchObject([{ role: 'assistant', parts }]);
  }
});

test('absent fields have no attributes', () => {
  expect(modelRequestAttributes({})).toEqual({});
  expect(modelResponseAttributes({ id: 5, choices: 'none', usage: null })).toEqual({
    'gen_ai.output.messages': '[]',
  });
});
