import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ModelService, plainQuestion, startModelService } from '../../test/model-service.ts';

let service: ModelService;

beforeAll(async () => {
  service = await startModelService();
});

afterAll(() => service.close());

/** Sends a raw body; returns the response in OpenAI's format. */
async function refusal(body: string | ReadableStream): Promise<Record<string, unknown>> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...service.authorization },
    body,
    duplex: 'half' as const,
  };
  const response = await fetch(`${service.baseUrl}/chat/completions`, init);
  const received: unknown = await response.json();
  return { status: response.status, ...(received as { error: object }).error };
}

const user = (content: unknown): object => ({ messages: [{ role: 'user', content }] });
const namedTool = { type: 'function', function: { name: 'f' } };
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

test.each([
  ['no messages', { request: { messages: undefined }, param: 'messages', words: 'messages' }],
  ['empty messages', { request: { messages: [] }, param: 'messages', words: 'at least one message' }],
  [
    'a message without a role',
    { request: { messages: [{ content: 'hi' }] }, param: 'messages[0].role', words: 'role' },
  ],
  ['an unknown role', { request: { messages: [{ role: 'bot', content: 'hi' }] }, param: null, words: '"bot"' }],
  ['an image', { request: user([{ type: 'text', text: 'What is it?' }, image]), param: null, words: '"image_url"' }],
  ['a temperature below 0', { request: { temperature: -1 }, param: 'temperature', words: 'temperature' }],
  ['max_tokens of 0', { request: { max_tokens: 0 }, param: 'max_tokens', words: 'max_tokens' }],
  ['a forced tool', { request: { tool_choice: 'required' }, param: 'tool_choice', words: '"required"' }],
  ['a named tool', { request: { tool_choice: namedTool }, param: 'tool_choice', words: '"auto" or "none"' }],
  ['five stop texts', { request: { stop: ['a', 'b', 'c', 'd', 'e'] }, param: 'stop', words: 'stop' }],
  ['too many tools', { request: { tools: Array(11).fill(namedTool) }, param: null, words: '11 tools' }],
  [
    'a response format',
    { request: { response_format: { type: 'json_object' } }, param: 'response_format', words: 'json_object' },
  ],
  ['a penalty', { request: { presence_penalty: 0.5 }, param: 'presence_penalty', words: '0.5 is not supported' }],
  ['a logit bias', { request: { logit_bias: { 5: 1 } }, param: 'logit_bias', words: 'embedded model' }],
  ['129 choices', { request: { n: 129 }, param: 'n', words: 'n:' }],
])('rejects %s with the reason', async (_what, { request, param, words }) => {
  for (const stream of [false, true]) {
    const rejected = await refusal(JSON.stringify({ ...plainQuestion, stream, ...request }));
    expect(rejected).toMatchObject({ status: 400, type: 'invalid_request_error', param });
    expect(rejected['message']).toContain(words);
  }
});

test('accepts the neutral values of fields that it does not support', async () => {
  const neutral = {
    response_format: { type: 'text' },
    frequency_penalty: 0,
    presence_penalty: null,
    logit_bias: {},
  } as const;
  expect((await service.ask(neutral)).choices).toHaveLength(1);
});

test.each(['{"model": "first", ', '', 'null', '[]', '"hi"'])('rejects the body %j', async (body) => {
  expect(await refusal(body)).toMatchObject({ status: 400, type: 'invalid_request_error', code: 'VALIDATION' });
});

test('rejects a prompt that fills the context, with the code of OpenAI', async () => {
  const asking = service.ask({ messages: [{ role: 'user', content: 'x'.repeat(2100) }] });
  await expect(asking).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'messages' });
  await expect(asking).rejects.toThrow('2102 tokens');
});

test('rejects an unknown model or path', async () => {
  await expect(service.ask({ model: 'none' })).rejects.toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
    param: 'model',
  });
  await expect(service.ask({ model: 'none' })).rejects.toThrow('"none"');
  const embedding = service.openai.embeddings.create({ model: 'first', input: 'hi' });
  await expect(embedding).rejects.toMatchObject({ status: 404, type: 'invalid_request_error' });
});

test('rejects a body that is too large, with and without a length', async () => {
  const large = JSON.stringify({ ...plainQuestion, ...user('x'.repeat(9 * 1024 * 1024)) });
  for (const body of [large, new Blob([large]).stream()]) {
    expect(await refusal(body)).toMatchObject({ status: 413, code: 'PAYLOAD_TOO_LARGE' });
  }
  expect((await service.ask({})).choices).toHaveLength(1);
});

test('rejects requests while the model is paused, with Retry-After', async () => {
  const model = await service.newModel('resting');
  await model.pause('drain');
  const response = await fetch(`${service.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: service.authorization,
    body: JSON.stringify({ ...plainQuestion, model: 'resting' }),
  });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('1');
  expect(await response.json()).toMatchObject({ error: { type: 'server_error', code: 'RUNTIME_UNAVAILABLE' } });
  expect((await service.ask({})).choices).toHaveLength(1);
});

test('waits for requests in flight on drain, and ends them on abort', async () => {
  const model = await service.newModel('busy');
  const question = { model: 'busy', max_tokens: 400 };
  const finished = service.ask({ ...question, n: 4 });
  await service.ask({ model: 'busy', max_tokens: 1 });
  expect(await model.pause('drain')).toMatchObject({ inFlight: 0 });
  expect((await finished).choices).toHaveLength(4);
  await model.resume();
  const ended = Promise.allSettled([service.ask({ ...question, n: 100 }), service.stream({ ...question, n: 100 })]);
  await service.ask({ model: 'busy', max_tokens: 1 });
  expect(await model.pause('abort')).toMatchObject({ inFlight: 0 });
  const [whole, streamed] = await ended;
  expect(whole).toMatchObject({ status: 'rejected', reason: { status: 503 } });
  expect(streamed).toMatchObject({ status: 'rejected', reason: { code: 'CANCELLED' } });
});
