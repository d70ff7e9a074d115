import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Span, withRollout } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { aRolloutContext, aSpan, MemorySpanSink } from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { traceFetch } from './trace-fetch.ts';

/** A server with one fixed response: a body, or the events of a stream. */
async function serveResponse(reply: object | readonly object[]): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(async (request: IncomingMessage, response) => {
    for await (const _ of request);
    if (Array.isArray(reply)) {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.end(reply.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function recorded(run: () => Promise<unknown>): Promise<Span> {
  const sink = new MemorySpanSink();
  await withRollout(aRolloutContext({ sink }), run);
  return sink.spans[0] ?? aSpan();
}

function post(url: string, body: object): Promise<string> {
  return traceFetch()(url, { method: 'POST', body: JSON.stringify(body) }).then((response) => response.text());
}

test('a Responses API call is recorded, streamed or not', async () => {
  const body = { id: 'resp_1', model: 'gpt', output: [], usage: { input_tokens: 7, output_tokens: 3 } };
  await using whole = await serveResponse(body);
  await using stream = await serveResponse([
    { type: 'response.created', response: { ...body, usage: null } },
    { type: 'response.output_text.delta', delta: 'hi' },
    { type: 'response.completed', response: body },
  ]);
  for (const { url } of [whole, stream]) {
    const client = new OpenAI({ baseURL: url, apiKey: 'x', fetch: traceFetch() });
    const span = await recorded(async () => {
      if (url === whole.url) return client.responses.create({ model: 'gpt', input: 'hello' });
      for await (const _ of await client.responses.create({ model: 'gpt', input: 'hello', stream: true }));
    });
    expect(span).toMatchObject({ name: 'openai.response', status: { code: 'OK' } });
    expect(span.attributes).toMatchObject({
      'gen_ai.response.id': 'resp_1',
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 3,
      'agentlightning.response_body': JSON.stringify(body),
      'agentlightning.trainable': false,
      'agentlightning.untrainable_reason': 'the responses API returns no training tokens',
    });
  }
});

test('the events of an Anthropic stream are assembled, including tool input', async () => {
  await using server = await serveResponse([
    { type: 'message_start', message: { id: 'msg_1', model: 'claude', role: 'assistant', usage: { input_tokens: 5 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Let me ' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'add.' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't1', name: 'add', input: {} } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '2}' } },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ]);
  const request = { model: 'claude', max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'hi' }] };
  const span = await recorded(() => post(`${server.url}/messages`, request));
  expect(span).toMatchObject({ name: 'anthropic.message', status: { code: 'OK' } });
  expect(JSON.parse(String(span.attributes['agentlightning.response_body']))).toEqual({
    id: 'msg_1',
    model: 'claude',
    role: 'assistant',
    stop_reason: 'tool_use',
    usage: { input_tokens: 5, output_tokens: 9 },
    content: [
      { type: 'text', text: 'Let me add.' },
      { type: 'tool_use', id: 't1', name: 'add', input: { a: 2 } },
    ],
  });
});

test('an Anthropic stream interrupted within a tool input keeps the part received', async () => {
  await using server = await serveResponse([
    { type: 'message_start', message: { id: 'msg_1', model: 'claude' } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't1', name: 'add', input: {} } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
  ]);
  const request = { model: 'claude', max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'hi' }] };
  const span = await recorded(() => post(`${server.url}/messages`, request));
  expect(span.status.message).toBe('the connection closed before the response was complete');
  expect(span.attributes['agentlightning.response_body']).toContain('"input":"{\\"a\\":"');
});

test('the events of a legacy completion stream are assembled', async () => {
  const head = { id: 'cmpl-1', object: 'text_completion', model: 'tiny' };
  await using server = await serveResponse([
    { ...head, choices: [{ index: 0, text: 'one ', finish_reason: null }] },
    { ...head, choices: [{ index: 0, text: 'two', finish_reason: 'stop' }] },
  ]);
  const span = await recorded(() => post(`${server.url}/completions`, { model: 'tiny', prompt: 'p', stream: true }));
  expect(span).toMatchObject({ name: 'openai.completion', status: { code: 'OK' } });
  expect(JSON.parse(String(span.attributes['agentlightning.response_body'])).choices).toEqual([
    { index: 0, text: 'one two', finish_reason: 'stop' },
  ]);
});

test('an embedding call is recorded without trainable attributes', async () => {
  await using server = await serveResponse({ object: 'list', model: 'embed', data: [], usage: { prompt_tokens: 4 } });
  const span = await recorded(() => post(`${server.url}/embeddings`, { model: 'embed', input: 'hello' }));
  expect(span).toMatchObject({ name: 'openai.embedding', attributes: { 'gen_ai.operation.name': 'embeddings' } });
  expect(span.attributes).not.toHaveProperty('agentlightning.trainable');
});

test('the agent receives its response when the sink throws', async () => {
  const body = { object: 'list', model: 'embed', data: [1], usage: { prompt_tokens: 4 } };
  await using server = await serveResponse(body);
  const broken = (): never => {
    throw new TypeError('the sink is broken');
  };
  const context = aRolloutContext({ sink: { append: broken, flush: broken } });
  const text = await withRollout(context, () => post(`${server.url}/embeddings`, { model: 'embed', input: 'x' }));
  expect(JSON.parse(text)).toEqual(body);
});

test('the span has the sampling parameters of each API that samples', async () => {
  await using server = await serveResponse({ id: 'chatcmpl-1', choices: [] });
  const request = { model: 'tiny', messages: [{ role: 'user', content: 'x' }], top_p: 0.9, max_tokens: 5, seed: 3 };
  const span = await recorded(() => post(`${server.url}/chat/completions`, request));
  expect(span.attributes).toMatchObject({
    'gen_ai.request.top_p': 0.9,
    'gen_ai.request.max_tokens': 5,
    'gen_ai.request.seed': 3,
  });
  expect(modelCallFromSpan(span)?.isTrainable).toBe(false);
});

const begun = { type: 'response.created', response: { id: 'resp_1', model: 'gpt', output: [], error: null } };
const failed = { id: 'resp_1', model: 'gpt', status: 'failed', output: [], error: { code: 'x', message: 'no memory' } };

test.for([
  { where: 'the final state of a response', reply: [begun, { type: 'response.failed', response: failed }] },
  { where: 'an event of the Responses API', reply: [begun, { type: 'error', code: 'x', message: 'no memory' }] },
  { where: 'an event of Chat Completions', reply: [{ id: 'c', choices: [] }, { error: 'no memory' }] },
  { where: 'an event of an older vLLM', reply: [{ object: 'error', message: 'no memory', code: 400 }] },
  { where: 'a failed response', reply: failed },
  { where: 'an error body', reply: { error: { message: 'no memory', code: 429 } } },
])('the error in $where is recorded', async ({ reply }) => {
  await using server = await serveResponse(reply);
  const path = JSON.stringify(reply).includes('resp') ? 'responses' : 'chat/completions';
  const body = { model: 'gpt', input: 'hello', messages: [{ role: 'user', content: 'hello' }] };
  const span = await recorded(() => post(`${server.url}/${path}`, body));
  expect(span.status).toEqual({ code: 'ERROR', message: 'no memory' });
  expect(span.attributes['agentlightning.trainable']).toBe(false);
});

test('a failed response keeps its id', async () => {
  await using server = await serveResponse([begun, { type: 'response.failed', response: failed }]);
  const span = await recorded(() => post(`${server.url}/responses`, { model: 'gpt', input: 'hello' }));
  expect(span.attributes).toMatchObject({ 'agentlightning.response_body': JSON.stringify(failed) });
});
