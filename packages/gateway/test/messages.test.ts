import type { AttemptedRollout } from '@agentlightning/core/store';
import { failWith, respondWith, type ScriptedResponse } from '@agentlightning/core/testing';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import {
  completionBody,
  type GatewayFixture,
  respondJson,
  signalled,
  startGateway,
  startUpstream,
} from './gateway-fixture.ts';

const request: Anthropic.MessageCreateParamsNonStreaming = {
  model: 'claude-opus-4-5',
  max_tokens: 1000,
  messages: [{ role: 'user', content: 'What is 2 + 3?' }],
};

const addTool: Anthropic.Tool = {
  name: 'add',
  input_schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
};

const twoCalls: ScriptedResponse = {
  type: 'response',
  content: 'Let me add.',
  reasoning: 'Two sums.',
  toolCalls: [
    { id: 'call_a', name: 'add', arguments: { a: 2, b: 3 } },
    { id: 'call_b', name: 'add', arguments: { a: 4, b: 5 } },
  ],
};

/** The official client, which appends `/v1` to its base URL. */
function clientOf(fixture: GatewayFixture, attempt?: AttemptedRollout): Anthropic {
  const baseURL = fixture.client(attempt).baseURL.replace(/\/v1$/, '');
  return new Anthropic({ baseURL, apiKey: 'unused', maxRetries: 0 });
}

describe('a Messages call to a model that only has Chat Completions', () => {
  it('returns a Messages response, and is recorded as a chat call', async () => {
    await using fixture = await startGateway({ script: [respondWith('It is 5.', { reasoning: 'Two and three.' })] });
    const attempt = await fixture.attempt();
    const message = await clientOf(fixture, attempt).messages.create({ ...request, system: 'Be brief.' });
    expect(message).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn', stop_sequence: null });
    expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    expect(message.usage.output_tokens).toBe('It is 5.'.length + 1);
    expect(message._request_id).toMatch(/^req-/);
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({
      responseId: message.id,
      isTrainable: true,
      untrainableReason: null,
      request: { max_tokens: 1000, messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }] },
      response: { choices: [{ message: { content: 'It is 5.', reasoning_content: 'Two and three.' } }] },
    });
    const [span] = await fixture.spans(attempt);
    expect(span?.attributes).toMatchObject({ 'agentlightning.api': 'messages' });
  });

  it('streams the same response, and records the same tokens', async () => {
    await using fixture = await startGateway({ script: () => twoCalls });
    const [whole, streamed] = [await fixture.attempt(), await fixture.attempt()];
    const first = await clientOf(fixture, whole).messages.create({ ...request, tools: [addTool] });
    const final = await clientOf(fixture, streamed)
      .messages.stream({ ...request, tools: [addTool] })
      .finalMessage();
    expect(final.content).toEqual(first.content);
    expect(final).toMatchObject({ stop_reason: 'tool_use', usage: first.usage });
    const [left] = await fixture.calls(whole);
    const [right] = await fixture.calls(streamed);
    expect(right).toMatchObject({ responseId: final.id, isTrainable: true, promptTokenIds: left?.promptTokenIds });
    expect(right?.choices).toEqual(left?.choices);
  });

  it('continues with tool results', async () => {
    await using fixture = await startGateway({ script: [twoCalls, respondWith('5 and 9')] });
    const { messages } = clientOf(fixture, await fixture.attempt());
    const first = await messages.create({ ...request, tools: [addTool] });
    const uses = first.content.filter((block) => block.type === 'tool_use');
    expect(uses.map(({ input }) => input)).toEqual([
      { a: 2, b: 3 },
      { a: 4, b: 5 },
    ]);
    const results = uses.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: id }));
    const turns = [
      { role: 'assistant' as const, content: first.content },
      { role: 'user' as const, content: results },
    ];
    const second = await messages.create({ ...request, messages: [...request.messages, ...turns] });
    expect(second.content).toMatchObject([{ type: 'text', text: '5 and 9' }]);
    expect(fixture.model.requests[1]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Let me add.', reasoning_content: 'Two sums.', tool_calls: [{}, {}] },
      { role: 'tool', content: 'call_a' },
      { role: 'tool', content: 'call_b' },
    ]);
  });

  it('stops at its sequences, and returns the matched one', async () => {
    await using upstream = await startUpstream((response) =>
      respondJson(response, completionBody({}, { stop_reason: 'END' })),
    );
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const { messages } = clientOf(fixture, await fixture.attempt());
    const message = await messages.create({ ...request, stop_sequences: ['END'] });
    expect(message).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toMatchObject({ stop: ['END'] });
  });

  it('is accepted at a base URL that already has /v1', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const attempt = await fixture.attempt();
    const client = new Anthropic({ baseURL: fixture.client(attempt).baseURL, apiKey: 'unused', maxRetries: 0 });
    expect((await client.messages.create(request)).content).toMatchObject([{ text: '5' }]);
    expect(await fixture.calls(attempt)).toHaveLength(1);
  });
});

describe('tools that run at Anthropic', () => {
  it('are left out of the request with a mark, and their blocks become text', async () => {
    await using fixture = await startGateway({ script: [respondWith('3 dollars')] });
    const attempt = await fixture.attempt();
    await clientOf(fixture, attempt).messages.create({
      ...request,
      tools: [{ type: 'web_search_20250305', name: 'web_search' }, addTool],
      tool_choice: { type: 'tool', name: 'web_search' },
      messages: [
        { role: 'user', content: 'What is a pear?' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'pear' } },
            {
              type: 'web_search_tool_result',
              tool_use_id: 'srv_1',
              content: [
                {
                  type: 'web_search_result',
                  title: 'Pears',
                  url: 'http://pears',
                  encrypted_content: 'x',
                  page_age: null,
                },
              ],
            },
            { type: 'tool_use', id: 't_1', name: 'ToolSearch', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't_1', content: [{ type: 'tool_reference', tool_name: 'look_up' }] },
          ],
        },
      ],
    });
    const { body } = fixture.model.requests[0] ?? expect.unreachable();
    expect(body.tools).toMatchObject([{ function: { name: 'add' } }]);
    expect(body).not.toHaveProperty('tool_choice');
    expect(body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: expect.stringMatching(/web_search\(\{"query":"pear"\}\)\s+Pears\nhttp:\/\/pears/) },
      { role: 'tool', content: 'Tool available: look_up' },
    ]);
    const [span] = await fixture.spans(attempt);
    expect(span?.attributes['agentlightning.request_changes']).toEqual([
      'messages.1.content.0: server_tool_use as text',
      'messages.1.content.1: web_search_tool_result as text',
      'tools.0: web_search_20250305 left out',
    ]);
  });
});

describe('a Messages call that fails', () => {
  it('has errors in Anthropic’s format, from the gateway and from the model', async () => {
    const script = [
      failWith(400, { message: 'too many tokens' }),
      failWith(429, { headers: { 'retry-after': '3600' } }),
    ];
    await using fixture = await startGateway({ script });
    const { messages } = clientOf(fixture, await fixture.attempt());
    const tools = [{ type: 'bash_20250124' as const, name: 'bash' as const }];
    await expect(messages.create({ ...request, tools })).rejects.toMatchObject({
      status: 400,
      error: {
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining('bash') },
      },
    });
    await expect(messages.create(request)).rejects.toMatchObject({
      status: 400,
      error: { type: 'error', error: { type: 'invalid_request_error', message: 'too many tokens' } },
    });
    await expect(messages.create(request)).rejects.toMatchObject({
      status: 429,
      error: { error: { type: 'rate_limit_error' } },
    });
    fixture.gateway.pause();
    await expect(messages.create(request)).rejects.toMatchObject({
      status: 429,
      error: { error: { type: 'rate_limit_error', message: expect.stringContaining('paused') } },
    });
  });

  it.each([
    ['died', { cutAfterChunks: 3 }, /broke off/],
    ['said so', { errorAfterChunks: 3 }, /scripted stream error/],
  ])('because the upstream %s in the middle ends with an error event', async (_, step, words) => {
    await using fixture = await startGateway({ script: [respondWith('one two three', step)] });
    const attempt = await fixture.attempt();
    const stream = clientOf(fixture, attempt).messages.stream(request);
    await expect(stream.finalMessage()).rejects.toThrow(words);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([
      { isTrainable: false, untrainableReason: expect.stringMatching(words), response: { choices: [{}] } },
    ]);
  });

  it('because its client disconnected is aborted upstream and partially recorded', async () => {
    const never = signalled();
    const script = [respondWith('one two three', { until: never.promise, pauseAfterChunks: 3 })];
    await using fixture = await startGateway({ script });
    const attempt = await fixture.attempt();
    const stream = await clientOf(fixture, attempt).messages.create({ ...request, stream: true });
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta' && event.delta.text === 'two ')
        break;
    }
    await fixture.model.waitForDisconnects(1);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([
      { isTrainable: false, response: { choices: [{ message: { content: 'one two ' } }] } },
    ]);
    never.send();
  });
});

describe('a Messages call to a model that has Messages', () => {
  const message = {
    id: 'msg_native',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'text', text: '5' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  };

  it('is forwarded unchanged, with the key in Anthropic’s header, and recorded by its id', async () => {
    await using upstream = await startUpstream((response) => respondJson(response, message));
    await using fixture = await startGateway({
      upstream: { baseUrl: upstream.baseUrl, apis: ['messages'], apiKey: 'vendor-key' },
    });
    const attempt = await fixture.attempt();
    expect(await clientOf(fixture, attempt).messages.create(request)).toMatchObject(message);
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toEqual(request);
    expect(upstream.requests[0]?.headers).toMatchObject({
      'x-api-key': 'vendor-key',
      'anthropic-version': expect.any(String),
    });
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({
      responseId: 'msg_native',
      isTrainable: false,
      choices: [{ finishReason: 'end_turn' }],
    });
  });

  it('is streamed event by event, and recorded complete', async () => {
    const { content: _, stop_reason: __, ...head } = message;
    const events = [
      { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '5' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, apis: ['messages'] } });
    const attempt = await fixture.attempt();
    expect(await clientOf(fixture, attempt).messages.stream(request).finalMessage()).toMatchObject(message);
    expect(await fixture.calls(attempt)).toMatchObject([{ responseId: 'msg_native', response: message }]);
    expect(await clientOf(fixture).messages.stream(request).finalMessage()).toMatchObject(message);
  });
});
