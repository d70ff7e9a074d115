import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../base/json.ts';
import { toGenAiMessages, toGenAiOutputMessages } from './gen-ai-messages.ts';

describe('Anthropic messages', () => {
  const image = { type: 'base64', media_type: 'image/png', data: 'AA==' };

  it('map their blocks to parts', () => {
    const said = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'Let me add.' },
      { type: 'tool_use', id: 't1', name: 'add', input: { a: 2 } },
    ];
    const answered = [
      { type: 'tool_result', tool_use_id: 't1', content: '5' },
      { type: 'image', source: image },
      { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
    ];
    const messages = [
      { role: 'assistant', content: said },
      { role: 'user', content: answered },
    ];
    expect(toGenAiMessages(messages)).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'hm' },
          { type: 'text', content: 'Let me add.' },
          { type: 'tool_call', id: 't1', name: 'add', arguments: { a: 2 } },
        ],
      },
      {
        role: 'user',
        parts: [
          { type: 'tool_call_response', id: 't1', response: '5' },
          { type: 'blob', modality: 'image', mime_type: 'image/png' },
          { type: 'uri', modality: 'image', uri: 'https://x/y.png' },
        ],
      },
    ]);
  });
});

describe('model response', () => {
  it.each<[string, JsonObject, string]>([
    ['Anthropic', { role: 'assistant', content: [{ type: 'text', text: '5' }], stop_reason: 'end_turn' }, 'end_turn'],
    ['Completions', { choices: [{ index: 0, text: '5', finish_reason: 'stop' }] }, 'stop'],
    ['Chat Completions', { choices: [{ index: 0, message: { content: '5' }, finish_reason: 'stop' }] }, 'stop'],
  ])('of %s is one message with its finish reason', (_, body, reason) => {
    expect(toGenAiOutputMessages(body)).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: '5' }], finish_reason: reason },
    ]);
  });
});
