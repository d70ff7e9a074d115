import { describe, expect, test } from 'vitest';
import { requestOf } from './sdk-messages.ts';

describe('messages of the AI SDK', () => {
  test('a conversation includes instructions, tool calls and tool results', () => {
    const { messages } = requestOf({
      instructions: 'Be brief.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'hm' },
            { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: { a: 1 } },
          ],
        },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', output: { type: 'json', value: [1] } }] },
      ],
    });
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'assistant',
        content: '',
        reasoning_content: 'hm',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: '[1]' },
    ]);
  });

  test.for([
    ['a system message', { role: 'system', content: 'Be brief.' }],
    ['a list of them', [{ role: 'system', content: 'Be brief.' }]],
  ])('instructions may be %s', ([, instructions]) => {
    expect(requestOf({ instructions, prompt: 'hi' }).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
    ]);
  });

  test('files are recorded by URL or media type, without their content', () => {
    const file = { type: 'file', mediaType: 'image/png' };
    const parts = [
      { ...file, data: new URL('https://pictures.example/a.png') },
      { ...file, data: { type: 'url', url: 'https://pictures.example/b.png' } },
      { ...file, data: new Uint8Array(9) },
      { ...file, data: 'data:image/png;base64,AAAA' },
    ];
    const { messages } = requestOf({ messages: [{ role: 'user', content: parts }] });
    expect(JSON.stringify(messages)).not.toContain('AAAA');
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
          { type: 'image_url', image_url: { url: 'https://pictures.example/b.png' } },
          { type: 'image_url', image_url: { url: 'data:image/png' } },
          { type: 'image_url', image_url: { url: 'data:image/png' } },
        ],
      },
    ]);
  });

  test('binary file content is not converted to a string', () => {
    class Watched extends Uint8Array {
      override toString(): string {
        throw new TypeError('converted to a string');
      }
    }
    const part = { type: 'image', image: new Watched(9), mediaType: 'image/png' };
    expect(requestOf({ messages: [{ role: 'user', content: [part] }] }).messages).toEqual([
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png' } }] },
    ]);
  });
});
