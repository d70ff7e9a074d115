import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { StreamedAnthropicMessage } from '../adapter/responses/streamed-anthropic-message.ts';
import { ScriptedModel } from './scripted-model.ts';
import { callTool, respondWith } from './scripted-model-step.ts';

function clientOf(model: ScriptedModel): OpenAI {
  return new OpenAI({ baseURL: model.baseUrl, apiKey: 'none', maxRetries: 0 });
}

test('the Responses API returns text, reasoning and usage', async () => {
  await using model = await ScriptedModel.start([respondWith('It is 5.', { reasoning: 'Two and three.' })]);
  const response = await clientOf(model).responses.create({
    model: 'tiny',
    instructions: 'Be brief.',
    input: 'What is 2 + 3?',
  });
  expect(response).toMatchObject({ id: 'resp_0', status: 'completed', output_text: 'It is 5.' });
  expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  expect(response.usage?.output_tokens).toBe('It is 5.'.length + 1);
  expect(model.requests[0]).toMatchObject({
    api: 'responses',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is 2 + 3?' },
    ],
  });
});

test('a streamed response has the events of OpenAI in order, and ends with the same body', async () => {
  const step = respondWith('One moment.', { toolCalls: [{ id: 'c1', name: 'add', arguments: { a: 2 } }] });
  await using model = await ScriptedModel.start([step, step]);
  const client = clientOf(model);
  const request = { model: 'tiny', input: [{ role: 'user' as const, content: 'Add.' }] };
  const whole = await client.responses.create(request);
  const stream = client.responses.stream(request);
  const events: { readonly type: string; readonly sequence_number: number }[] = [];
  for await (const event of stream) events.push(event);
  expect(events.map(({ type }) => type)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.completed',
  ]);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  const final = await stream.finalResponse();
  expect(final.output.map(({ type }) => type)).toEqual(whole.output.map(({ type }) => type));
  expect(final.output_text).toBe('One moment.');
});

test('a response truncated by the token limit is incomplete', async () => {
  await using model = await ScriptedModel.start([respondWith('one two three')]);
  const response = await clientOf(model).responses.create({ model: 'tiny', input: 'x', max_output_tokens: 3 });
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output_text: 'one',
  });
});

test('function outputs need a call, and calls need an output', async () => {
  await using model = await ScriptedModel.start([callTool('add', { a: 1 }), respondWith('fine')]);
  const { responses } = clientOf(model);
  const { output } = await responses.create({ model: 'tiny', input: 'Add.' });
  const [call] = output.filter((item) => item.type === 'function_call');
  if (call === undefined) return expect(output).toContain('a function call');
  const result = { type: 'function_call_output' as const, call_id: call.call_id, output: '5' };
  await expect(responses.create({ model: 'tiny', input: [result] })).rejects.toThrow('matches no tool call');
  await expect(responses.create({ model: 'tiny', input: [call] })).rejects.toThrow('without a result');
  expect((await responses.create({ model: 'tiny', input: [call, result] })).output_text).toBe('fine');
});

test('an error within a streamed response reaches the client', async () => {
  await using model = await ScriptedModel.start([respondWith('one two', { errorAfterChunks: 5 })]);
  const stream = await clientOf(model).responses.create({ model: 'tiny', input: 'x', stream: true });
  const types: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { type } of stream) types.push(type);
  };
  await read().catch((error: unknown) => types.push(String(error)));
  expect(types.slice(0, 5).at(-1)).toBe('response.output_text.delta');
  expect(types.at(-1)).toMatch(/error/);
});

test('embeddings are deterministic and consume a step', async () => {
  await using model = await ScriptedModel.start([respondWith(''), respondWith('')]);
  const { embeddings } = clientOf(model);
  const plain = await embeddings.create({ model: 'embed', input: ['a', 'b'], encoding_format: 'float' });
  // The client requests base64 by default, and decodes it.
  const encoded = await embeddings.create({ model: 'embed', input: ['a', 'b'] });
  expect(plain.data.map(({ embedding }) => embedding)).toEqual(encoded.data.map(({ embedding }) => [...embedding]));
  expect(plain.data[0]?.embedding).not.toEqual(plain.data[1]?.embedding);
});

test('the model list does not consume a step', async () => {
  await using model = await ScriptedModel.start([]);
  const { data } = await clientOf(model).models.list();
  expect(data.map(({ id }) => id)).toEqual(['scripted-model']);
});

test('the Messages API returns text, reasoning, tool calls and usage, streamed and whole', async () => {
  const step = respondWith('One moment.', {
    reasoning: 'Two and three.',
    toolCalls: [{ id: 'c1', name: 'add', arguments: { a: 2 } }],
  });
  await using model = await ScriptedModel.start([step, step]);
  const send = async (stream: boolean): Promise<string> => {
    const body = JSON.stringify({
      model: 'tiny',
      max_tokens: 1000,
      stream,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: 'Add.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c0', name: 'add', input: { a: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c0', content: '1' }] },
      ],
    });
    return (await fetch(`${model.baseUrl}/messages`, { method: 'POST', body })).text();
  };
  const whole: unknown = JSON.parse(await send(false));
  expect(whole).toMatchObject({
    id: 'msg_0',
    stop_reason: 'tool_use',
    content: [
      { type: 'thinking', thinking: 'Two and three.' },
      { type: 'text', text: 'One moment.' },
      { type: 'tool_use', id: 'c1', name: 'add', input: { a: 2 } },
    ],
  });
  const streamed = new StreamedAnthropicMessage();
  for (const line of (await send(true)).split('\n')) {
    if (line.startsWith('data: ')) streamed.add(JSON.parse(line.slice('data: '.length)));
  }
  expect(streamed.isWhole).toBe(true);
  expect(streamed.toBody()).toEqual({ ...(whole as object), id: 'msg_1' });
  expect(model.requests[0]).toMatchObject({
    api: 'messages',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Add.' },
      { role: 'assistant', tool_calls: [{ id: 'c0' }] },
      { role: 'tool', tool_call_id: 'c0', content: '1' },
    ],
  });
});
