import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { ScriptedModel } from './scripted-model.ts';
import { callTool, failWith, respondWith, type ScriptedStep } from './scripted-model-step.ts';

const messages = [{ role: 'user' as const, content: 'What is 2 + 3?' }];
const vllm = { logprobs: true, return_token_ids: true } as object;

function clientOf(model: ScriptedModel): OpenAI {
  return new OpenAI({ baseURL: model.baseUrl, apiKey: 'none', maxRetries: 0 });
}

async function collect<TItem>(items: AsyncIterable<TItem>): Promise<TItem[]> {
  const all: TItem[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function post(model: ScriptedModel, body: string): Promise<{ status: number; message: string }> {
  const response = await fetch(`${model.baseUrl}/chat/completions`, { method: 'POST', body });
  const { error } = (await response.json()) as { error: { message: string } };
  return { status: response.status, message: error.message };
}

test('a continued tool conversation has the earlier token ids as an exact prefix', async () => {
  await using model = await ScriptedModel.start([callTool('add', { a: 2, b: 3 }), respondWith('It is 5.')]);
  const client = clientOf(model);
  const tools = [{ type: 'function' as const, function: { name: 'add', parameters: { type: 'object' } } }];
  const first = await client.chat.completions.create({ model: 'tiny', messages, tools, ...vllm });
  const message = first.choices[0]?.message;
  expect(message?.content).toBeNull();
  expect(message?.tool_calls?.[0]).toMatchObject({
    type: 'function',
    function: { name: 'add', arguments: '{"a":2,"b":3}' },
  });
  const second = await client.chat.completions.create({
    model: 'tiny',
    messages: [
      ...messages,
      message ?? { role: 'assistant', content: '' },
      { role: 'tool', tool_call_id: message?.tool_calls?.[0]?.id ?? '', content: '5' },
    ],
    tools,
    ...vllm,
  });
  expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is 5.' } });
  const ids = (body: object): number[] => (body as { prompt_token_ids: number[] }).prompt_token_ids;
  const sampled = (first.choices[0] as unknown as { token_ids: number[] }).token_ids;
  expect(ids(second).slice(0, ids(first).length + sampled.length)).toEqual([...ids(first), ...sampled]);
  expect(first.choices[0]?.logprobs?.content).toHaveLength(sampled.length);
  expect(first.usage).toMatchObject({ prompt_tokens: ids(first).length, completion_tokens: sampled.length });
});

test('a stream has the text, tool call, tokens and usage of the non-streamed response', async () => {
  const step = { ...callTool('add', { a: 2 }), content: 'Let me add.' };
  await using model = await ScriptedModel.start([step, step]);
  const client = clientOf(model);
  const whole = await client.chat.completions.create({ model: 'tiny', messages, ...vllm });
  const stream = await client.chat.completions.create({
    model: 'tiny',
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...vllm,
  });
  const chunks = await collect(stream);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  expect(choices.map((choice) => choice.delta.content ?? '').join('')).toBe('Let me add.');
  const calls = choices.flatMap((choice) => choice.delta.tool_calls ?? []);
  expect(calls[0]?.function?.name).toBe('add');
  expect(calls.map((call) => call.function?.arguments).join('')).toBe('{"a":2}');
  expect(choices.flatMap((choice) => (choice as unknown as { token_ids?: number[] }).token_ids ?? [])).toEqual(
    (whole.choices[0] as unknown as { token_ids: number[] }).token_ids,
  );
  expect(choices.at(-1)?.finish_reason).toBe('tool_calls');
  expect(chunks.at(-1)?.usage).toEqual(whole.usage);
});

test('token ids and log-probabilities are only returned on request', async () => {
  await using model = await ScriptedModel.start(() => respondWith('hi'));
  const plain = await clientOf(model).chat.completions.create({ model: 'tiny', messages });
  expect(plain).not.toHaveProperty('prompt_token_ids');
  expect(plain.choices[0]).not.toHaveProperty('token_ids');
  expect(plain.choices[0]?.logprobs).toBeNull();
});

test('the token limit truncates the response', async () => {
  await using model = await ScriptedModel.start([respondWith('12345')]);
  const cut = await clientOf(model).chat.completions.create({ model: 'tiny', messages, max_tokens: 3 });
  expect(cut.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '123' } });
  expect(cut.usage?.completion_tokens).toBe(3);
});

test('close throws for a tool call that the token limit cuts, unless the step says so', async () => {
  const step = callTool('add', { a: 2 });
  const cut = async (script: readonly ScriptedStep[]): Promise<ScriptedModel> => {
    const model = await ScriptedModel.start(script);
    await clientOf(model).chat.completions.create({ model: 'tiny', messages, max_tokens: 4 });
    return model;
  };
  await expect((await cut([step])).close()).rejects.toThrow(
    'the tool call of call 1 (add) is longer than the token limit of the request, 4, and was left out',
  );
  await (await cut([{ ...step, finishReason: 'length' }])).close();
});

test.each([
  ['bad JSON', '{"model":', 'Invalid JSON'],
  ['a list', '[]', 'Invalid JSON'],
  ['no messages', '{"model":"m"}', 'messages'],
  ['empty messages', '{"model":"m","messages":[]}', 'messages'],
  ['no model', '{"messages":[{"role":"user","content":"x"}]}', 'model'],
  ['an unknown role', '{"model":"m","messages":[{"role":"robot","content":"x"}]}', 'messages.0.role'],
  ['an empty assistant', '{"model":"m","messages":[{"role":"assistant"}]}', "'content' or 'tool_calls'"],
  [
    'a stray tool result',
    '{"model":"m","messages":[{"role":"tool","tool_call_id":"c","content":"x"}]}',
    'matches no tool',
  ],
  ['a bad limit', '{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":0}', 'max_tokens'],
  [
    'stream options without a stream',
    '{"model":"m","messages":[{"role":"user","content":"x"}],"stream_options":{}}',
    'stream',
  ],
])('%s is rejected like by a real server, and does not consume a step', async (_name, body, problem) => {
  await using model = await ScriptedModel.start(() => respondWith('hi'));
  const { status, message } = await post(model, body);
  expect(status).toBe(400);
  expect(message).toContain(problem);
  expect(model.requests).toHaveLength(0);
});

test('a tool call without its result is rejected', async () => {
  await using model = await ScriptedModel.start(() => respondWith('hi'));
  const call = { id: 'c1', type: 'function', function: { name: 'add', arguments: '{}' } };
  const body = {
    model: 'm',
    messages: [
      { role: 'assistant', tool_calls: [call] },
      { role: 'user', content: 'x' },
    ],
  };
  expect((await post(model, JSON.stringify(body))).message).toContain('tool calls without a result: c1');
});

test('an unexpected call fails, and close throws', async () => {
  const model = await ScriptedModel.start([respondWith('one')]);
  await clientOf(model).chat.completions.create({ model: 'tiny', messages });
  await expect(clientOf(model).chat.completions.create({ model: 'tiny', messages })).rejects.toThrow(
    'not in the script',
  );
  await expect(model.close()).rejects.toThrow('call 2 is not in the script');
});

test('close throws for unused steps', async () => {
  const model = await ScriptedModel.start([respondWith('one'), respondWith('two')]);
  await expect(model.close()).rejects.toThrow('2 steps of the script not used');
});

test('failures have the status, headers and body of the API', async () => {
  await using model = await ScriptedModel.start([
    failWith(429, { headers: { 'retry-after': '0' } }),
    respondWith('hi'),
  ]);
  const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'none', maxRetries: 1 });
  const retried = await client.chat.completions.create({ model: 'tiny', messages });
  expect(retried.choices[0]?.message.content).toBe('hi');
  expect(model.requests.map((request) => request.headers['x-stainless-retry-count'])).toEqual(['0', '1']);
});

test.each([
  ['chat/completions', 429, { error: { type: 'requests', code: 'rate_limit_exceeded' } }],
  ['responses', 500, { error: { type: 'server_error', code: null } }],
  ['chat/completions', 401, { error: { code: 'invalid_api_key' } }],
  ['messages', 429, { type: 'error', error: { type: 'rate_limit_error' } }],
  ['messages', 500, { type: 'error', error: { type: 'api_error' } }],
  ['messages', 529, { type: 'error', error: { type: 'overloaded_error' } }],
])('an error of %s with %i has the body of its provider', async (path, status, expected) => {
  await using model = await ScriptedModel.start([failWith(status)]);
  const request = { model: 'tiny', max_tokens: 10, ...(path === 'responses' ? { input: 'x' } : { messages }) };
  const response = await fetch(`${model.baseUrl}/${path}`, { method: 'POST', body: JSON.stringify(request) });
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject(expected);
});

test('a stream can be closed, end with an error, and wait for a client disconnect', async () => {
  await using model = await ScriptedModel.start([
    respondWith('one two three', { cutAfterChunks: 2 }),
    respondWith('one two three', { errorAfterChunks: 2 }),
    respondWith('one two three', { pauseAfterChunks: 2, until: new Promise(() => {}) }),
  ]);
  const create = () => clientOf(model).chat.completions.create({ model: 'tiny', messages, stream: true });
  await expect(create().then((stream) => collect(stream))).rejects.toThrow();
  await expect(create().then((stream) => collect(stream))).rejects.toThrow('scripted stream error');
  for await (const chunk of await create()) {
    if (chunk.choices[0]?.delta.content === 'one ') break;
  }
  await model.waitForDisconnects(1);
});
