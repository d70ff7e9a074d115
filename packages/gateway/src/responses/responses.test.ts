import type { JsonObject } from '@agentlightning/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AnyResponse,
  anyCuts,
  anyResponse,
  chatBodyOf,
  chatChunksOf,
  chatMessageOf,
} from '../../test/any-response.ts';
import { objectsOf } from '../wire/json-access.ts';
import { chatMessages } from './chat-messages.ts';
import { chatRequestOf, inputItems } from './chat-request.ts';
import { responseOf } from './response-body.ts';
import { ResponseEvents } from './response-events.ts';

const request = { model: 'gpt', input: 'Add.' };
const options = { request, stem: 'a'.repeat(32) };

function eventsOf(chunks: readonly JsonObject[]): readonly JsonObject[] {
  const events = new ResponseEvents(options);
  return [...chunks.flatMap((chunk) => events.take(chunk)), ...events.ending()];
}

function resultsOf({ calls }: AnyResponse): readonly JsonObject[] {
  return calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: `result of ${id}` }));
}

describe('a response translated to Responses', () => {
  it('is the same whole and streamed', () => {
    fc.assert(
      fc.property(anyResponse, anyCuts, (response, cuts) => {
        const last = eventsOf(chatChunksOf(response, cuts)).at(-1);
        expect(last).toMatchObject({ type: 'response.completed', response: responseOf(chatBodyOf(response), options) });
      }),
    );
  });

  it('becomes the same chat message when it is sent back with its results, however its items are interleaved', () => {
    fc.assert(
      fc.property(anyResponse, fc.boolean(), (response, isMixed) => {
        const output = objectsOf(responseOf(chatBodyOf(response), options).output);
        const results = resultsOf(response);
        const isCall = (item: JsonObject): boolean => item.type === 'function_call';
        const mixed = output.flatMap((item) =>
          isCall(item) ? [item, ...results.filter((one) => one.call_id === item.call_id)] : [item],
        );
        const items = isMixed ? mixed : [...output, ...results];
        const tools = response.calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` }));
        expect(chatMessages({ before: [], items }, null)).toEqual([chatMessageOf(response), ...tools]);
      }),
    );
  });

  it('streams its events numbered and in OpenAI’s order', () => {
    const response = {
      reasoning: 'hm',
      content: 'One moment.',
      calls: ['a', 'b'].map((id) => ({ id, name: 'add', arguments: '{}' })),
    };
    const events = eventsOf(chatChunksOf(response, [11]));
    const call = [
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
    ];
    expect([...new Set(events.slice(3, 5).map(({ type }) => type))]).toEqual([
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
    ]);
    const types = events.map(({ type }) => String(type).slice('response.'.length));
    expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      ...call,
      ...call,
      'completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    const places = events.filter((event) => event.type === 'response.output_item.added');
    expect(places.map((event) => event.output_index)).toEqual([0, 1, 2, 3]);
  });

  it('is incomplete when the limit or the filter cut it, and an empty response is an empty message', () => {
    const said = (content: string, reason: string): JsonObject =>
      responseOf(chatBodyOf({ reasoning: '', content, calls: [] }, reason), options);
    expect(said('a', 'length')).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
    });
    expect(said('a', 'content_filter')).toMatchObject({ incomplete_details: { reason: 'content_filter' } });
    expect(said('', 'stop').output).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
  });

  it('counts tokens as Responses does', () => {
    const { usage } = responseOf(chatBodyOf({ reasoning: '', content: 'a', calls: [] }), options);
    expect(usage).toEqual({
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 14,
    });
  });
});

describe('a Responses request', () => {
  const chat = (fields: JsonObject): JsonObject => {
    const whole = { ...request, ...fields };
    return chatRequestOf(whole, { before: [], items: inputItems(whole) });
  };

  it('has its fields translated, and keeps unknown ones', () => {
    const format = { type: 'json_schema', name: 'sum', schema: { type: 'object' }, strict: true };
    expect(
      chat({
        instructions: 'Be brief.',
        max_output_tokens: 7,
        temperature: 0.5,
        text: { format },
        reasoning: { effort: 'low' },
        metadata: { a: 'b' },
        store: false,
        stream: true,
        top_k: 3,
      }),
    ).toEqual({
      model: 'gpt',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Add.' },
      ],
      max_tokens: 7,
      temperature: 0.5,
      response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: { type: 'object' }, strict: true } },
      reasoning_effort: 'low',
      stream: true,
      stream_options: { include_usage: true },
      metadata: { a: 'b' },
      top_k: 3,
    });
  });

  it('keeps engine fields without a counterpart in Responses', () => {
    const others = { max_tokens: 5, reasoning_effort: 'low', response_format: { type: 'json_object' }, stop: ['END'] };
    expect(chat(others)).toMatchObject(others);
    expect(chat({ ...others, max_output_tokens: 7 })).toMatchObject({ ...others, max_tokens: 7 });
  });

  it('has its tools and tool choice translated', () => {
    const tools = ['add', 'say'].map((name) => ({
      type: 'function',
      name,
      parameters: { type: 'object' },
      strict: null,
    }));
    const [add, say] = ['add', 'say'].map((name) => ({
      type: 'function',
      function: { name, parameters: { type: 'object' } },
    }));
    expect(chat({ tools, parallel_tool_calls: false })).toMatchObject({
      tools: [add, say],
      parallel_tool_calls: false,
    });
    expect(chat({ tools, tool_choice: { type: 'function', name: 'add' } }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'add' },
    });
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'say' }] };
    expect(chat({ tools, tool_choice: allowed })).toMatchObject({ tools: [say], tool_choice: 'required' });
  });

  it('has its images, files and joined instructions translated', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' };
    const file = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' };
    const input = [
      { role: 'developer', content: 'Now.' },
      { role: 'user', content: [{ type: 'input_text', text: 'Look.' }, image, file] },
    ];
    expect(chat({ instructions: 'Be brief.', input }).messages).toEqual([
      { role: 'system', content: 'Be brief.\n\nNow.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
        ],
      },
    ]);
  });

  it.each([
    [{ tools: [{ type: 'computer_use_preview' }] }, 'tools[0].type', 'computer_use_preview'],
    [{ background: true }, 'background', 'background'],
    [{ conversation: 'conv_1' }, 'conversation', 'conversation'],
    [{ input: [{ type: 'computer_call' }] }, 'input[0].type', 'computer_call'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[0].content[0].file_id',
      'OpenAI',
    ],
    [{ input: [{ role: 'king', content: '' }] }, 'input[0].role', 'king'],
    [{ input: 5 }, 'input', 'neither'],
    [{ instructions: [{ role: 'system', content: 'Be brief.' }] }, 'instructions', 'string'],
    [{ previous_response_id: 5 }, 'previous_response_id', 'string'],
    [{ text: { format: { type: 'grammar' } } }, 'text.format.type', 'grammar'],
    [{ tools: [{ type: 'function', function: { name: 'add' } }] }, 'tools[0].name', 'name'],
    [
      {
        tools: [{ type: 'function', name: 'add' }],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'say' }] },
      },
      'tool_choice.tools',
      'say',
    ],
  ])('with %j is rejected with the reason', (fields, param, words) => {
    expect(() => chat(fields as JsonObject)).toThrow(
      expect.objectContaining({ httpStatus: 400, param, message: expect.stringContaining(words) }),
    );
  });
});
