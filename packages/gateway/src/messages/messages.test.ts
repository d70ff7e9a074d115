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
import { objectOf, objectsOf } from '../wire/json-access.ts';
import { chatMessages } from './chat-messages.ts';
import { chatRequestOf } from './chat-request.ts';
import { messageOf } from './message-body.ts';
import { MessageEvents } from './message-events.ts';

const request = { model: 'claude', max_tokens: 100, messages: [{ role: 'user', content: 'Add.' }] };
const options = { request, stem: 'a'.repeat(32) };

function eventsOf(chunks: readonly JsonObject[], of: JsonObject = request): readonly JsonObject[] {
  const events = new MessageEvents({ ...options, request: of });
  return [...chunks.flatMap((chunk) => events.take(chunk)), ...events.ending()];
}

/** The message that a client assembles from the events. */
function assembled(events: readonly JsonObject[]): JsonObject {
  const blocks: Record<string, string>[] = [];
  for (const event of events) {
    const index = Number(event.index ?? 0);
    if (event.type === 'content_block_start') blocks[index] = { ...(event.content_block as Record<string, string>) };
    if (event.type !== 'content_block_delta') continue;
    const { type: _, ...delta } = objectOf(event.delta);
    for (const [name, text] of Object.entries(delta))
      blocks[index] = { ...blocks[index], [name]: (blocks[index]?.[name] ?? '') + text };
  }
  const content = blocks.map(({ partial_json: json, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(json ?? '{}') } : block,
  );
  const end = events.find(({ type }) => type === 'message_delta');
  return { ...objectOf(events[0]?.message), content, ...objectOf(end?.delta), usage: end?.usage ?? null };
}

describe('a response translated to Messages', () => {
  it('is the same whole and streamed', () => {
    fc.assert(
      fc.property(anyResponse, anyCuts, (response, cuts) => {
        expect(assembled(eventsOf(chatChunksOf(response, cuts)))).toEqual(messageOf(chatBodyOf(response), options));
      }),
    );
  });

  it('becomes the same chat message when it is sent back with its tool results', () => {
    fc.assert(
      fc.property(anyResponse, (response: AnyResponse) => {
        const message = messageOf(chatBodyOf(response), options);
        const results = response.calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: id }));
        const back = [
          { role: 'assistant', content: message.content ?? null },
          { role: 'user', content: results },
        ];
        const tools = response.calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: id }));
        expect(chatMessages(back)).toEqual([chatMessageOf(response), ...tools]);
      }),
    );
  });

  it('streams its events in Anthropic’s order', () => {
    const calls = ['a', 'b'].map((id) => ({ id, name: 'add', arguments: '{"a":1}' }));
    const types = eventsOf(chatChunksOf({ reasoning: 'hm', content: 'One moment.', calls }, [11])).map(
      ({ type }) => type,
    );
    const block = ['content_block_start', 'content_block_delta', 'content_block_stop'];
    const [start, delta, stop] = block;
    expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
      'message_start',
      start,
      'ping',
      delta,
      stop,
      ...block,
      ...block,
      ...block,
      'message_delta',
      'message_stop',
    ]);
  });

  it('has no thinking when the client disabled it, streamed or not', () => {
    const quiet = { ...request, thinking: { type: 'disabled' } };
    const response = { reasoning: 'hm', content: 'Five.', calls: [] };
    const whole = messageOf(chatBodyOf(response), { ...options, request: quiet });
    expect(whole.content).toEqual([{ type: 'text', text: 'Five.' }]);
    expect(assembled(eventsOf(chatChunksOf(response, [1]), quiet))).toEqual(whole);
  });

  it('has thinking without text when the client omits it, and restores it when it is sent back', () => {
    const omitted = { ...request, thinking: { type: 'adaptive', display: 'omitted' } };
    const response = { reasoning: 'hm', content: 'Five.', calls: [] };
    const whole = messageOf(chatBodyOf(response), { ...options, request: omitted });
    expect(whole.content).toMatchObject([{ type: 'thinking', thinking: '' }, { type: 'text' }]);
    expect(assembled(eventsOf(chatChunksOf(response, [1]), omitted))).toEqual(whole);
    expect(chatMessages([{ role: 'assistant', content: whole.content ?? null }])).toEqual([chatMessageOf(response)]);
  });

  it.each([
    ['stop', {}, 'end_turn'],
    ['length', {}, 'max_tokens'],
    ['content_filter', {}, 'refusal'],
    ['stop', { stop_reason: 'END' }, 'stop_sequence'],
    ['stop', { stop_reason: 2 }, 'end_turn'],
  ])('with finish reason %s and %j has the stop reason %s', (finish, fields, reason) => {
    const body = chatBodyOf({ reasoning: '', content: 'a', calls: [] }, finish);
    const choices = objectsOf(body.choices).map((choice) => ({ ...choice, ...fields }));
    const of = { ...request, stop_sequences: ['END'] };
    expect(messageOf({ ...body, choices }, { ...options, request: of })).toMatchObject({
      stop_reason: reason,
      stop_sequence: reason === 'stop_sequence' ? 'END' : null,
      usage: { input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 5 },
    });
  });

  it('keeps arguments that are not JSON', () => {
    const calls = [{ id: 'a', name: 'add', arguments: '{"a' }];
    const { content } = messageOf(chatBodyOf({ reasoning: '', content: '', calls }), options);
    expect(content).toMatchObject([{ input: { INVALID_JSON: '{"a' } }]);
    expect(chatMessages([{ role: 'assistant', content: content ?? null }])).toMatchObject([
      { tool_calls: [{ function: { arguments: '{"a' } }] },
    ]);
  });
});

describe('a Messages request', () => {
  it('has its fields translated, and keeps unknown ones', () => {
    const schema = { type: 'object' };
    expect(
      chatRequestOf({
        ...request,
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        stop_sequences: ['END'],
        metadata: { user_id: 'me' },
        temperature: 0.5,
        top_k: 3,
        stream: true,
        tools: [{ name: 'add', description: 'Adds.', input_schema: schema }],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
        output_config: { format: { type: 'json_schema', schema }, effort: 'max' },
      }),
    ).toEqual({
      model: 'claude',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Add.' },
      ],
      max_tokens: 100,
      temperature: 0.5,
      top_k: 3,
      stop: ['END'],
      user: 'me',
      stream: true,
      stream_options: { include_usage: true },
      tools: [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters: schema } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'response', schema, strict: true } },
      reasoning_effort: 'high',
    });
  });

  it('keeps engine fields without a counterpart in Messages', () => {
    const others = { stop: ['END'], user: 'me', reasoning_effort: 'low', response_format: { type: 'json_object' } };
    expect(chatRequestOf({ ...request, ...others })).toEqual({ ...request, ...others });
    expect(chatRequestOf({ ...request, ...others, stop_sequences: ['.'] })).toMatchObject({ stop: ['.'], user: 'me' });
  });

  it('has its images and documents translated, and tool results before user text', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
    const document = {
      type: 'document',
      title: 'Note',
      context: 'From the door.',
      source: { type: 'text', media_type: 'text/plain', data: 'Hi.' },
    };
    const result = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: '5' }] };
    const content = [document, image, result];
    expect(chatRequestOf({ ...request, messages: [{ role: 'user', content }] }).messages).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '5' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Note' },
          { type: 'text', text: 'From the door.' },
          { type: 'text', text: 'Hi.' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        ],
      },
    ]);
  });

  it.each([
    [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools.0.type', 'bash'],
    [{ mcp_servers: [{ url: 'x' }] }, 'mcp_servers', 'MCP server'],
    [{ messages: 'x' }, 'messages', 'list'],
    [{ messages: [{ role: 'king', content: '' }] }, 'messages.0.role', 'king'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      'messages.0.content.0.source',
      'Anthropic',
    ],
    [{ messages: [{ role: 'user', content: [{ type: 'dream' }] }] }, 'messages.0.content.0.type', 'dream'],
    [{ system: 5 }, 'system', 'string'],
    [{ system: [{ type: 'image', source: { type: 'url', url: 'x' } }] }, 'system.0', 'text'],
    [{ stop_sequences: 'END' }, 'stop_sequences', 'list'],
    [{ output_config: { format: { type: 'grammar' } } }, 'output_config.format.type', 'grammar'],
    [{ tools: [{ input_schema: {} }] }, 'tools.0.name', 'name'],
    [{ tools: [{ name: 'add' }], tool_choice: { type: 'whatever' } }, 'tool_choice', 'whatever'],
    [{ tools: [{ name: 'add' }], tool_choice: 'auto' }, 'tool_choice', 'auto'],
  ])('with %j is rejected with the reason', (fields, param, words) => {
    expect(() => chatRequestOf({ ...request, ...fields } as JsonObject)).toThrow(
      expect.objectContaining({ httpStatus: 400, param, message: expect.stringContaining(words) }),
    );
  });
});
