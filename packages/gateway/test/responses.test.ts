import type { Store } from '@agentlightning/core';
import { failWith, respondWith, type ScriptedResponse } from '@agentlightning/core/testing';
import type OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { signalled, startGateway, startUpstream, storeWith } from './gateway-fixture.ts';

const request = { model: 'gpt-5', input: 'What is 2 + 3?' };

const addTool: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'add',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  strict: true,
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

/** A store that another fixture closes. */
function sharedStore(store: Store): Store {
  return storeWith(store, { close: async () => undefined });
}

describe('a Responses call to a model that only has Chat Completions', () => {
  it('returns a Responses response, and is recorded as a chat call', async () => {
    await using fixture = await startGateway({ script: [respondWith('It is 5.', { reasoning: 'Two and three.' })] });
    const attempt = await fixture.attempt();
    const response = await fixture.client(attempt).responses.create({ ...request, instructions: 'Be brief.' });
    expect(response).toMatchObject({ object: 'response', status: 'completed', output_text: 'It is 5.' });
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({
      responseId: response.id,
      isTrainable: true,
      untrainableReason: null,
      request: {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'What is 2 + 3?' },
        ],
      },
      response: { choices: [{ message: { content: 'It is 5.' }, logprobs: null }] },
    });
    expect(call?.choices[0]?.responseTokenIds).toHaveLength('It is 5.'.length + 1);
    expect(call?.response).not.toHaveProperty('prompt_token_ids');
    const [span] = await fixture.spans(attempt);
    expect(span?.attributes).toMatchObject({ 'agentlightning.api': 'responses', 'agentlightning.stream': false });
  });

  it('streams the same response, and records the same tokens', async () => {
    await using fixture = await startGateway({ script: () => twoCalls });
    const [whole, streamed] = [await fixture.attempt(), await fixture.attempt()];
    const first = await fixture.client(whole).responses.create({ ...request, tools: [addTool] });
    const final = await fixture
      .client(streamed)
      .responses.stream({ ...request, tools: [addTool] })
      .finalResponse();
    const shape = ({ output }: OpenAI.Responses.Response): object[] => output.map(({ id: _, ...item }) => item);
    expect(shape(final)).toMatchObject(shape(first));
    const [left] = await fixture.calls(whole);
    const [right] = await fixture.calls(streamed);
    expect(right).toMatchObject({ responseId: final.id, isTrainable: true, promptTokenIds: left?.promptTokenIds });
    expect(right?.choices).toEqual(left?.choices);
  });

  it('streams the same events as a server with native Responses', async () => {
    await using fixture = await startGateway({ script: () => twoCalls });
    const { responses } = fixture.client(await fixture.attempt());
    const { baseUrl } = fixture.model;
    const sides: object[][] = [];
    for (const apis of [[], ['responses' as const]]) {
      fixture.gateway.setUpstream({ baseUrl, model: 'policy', apis });
      const events: object[] = [];
      for await (const event of await responses.create({ ...request, tools: [addTool], stream: true })) {
        const { type, sequence_number } = event;
        events.push({ type, sequence_number, ...('output_index' in event ? { index: event.output_index } : {}) });
      }
      sides.push(events);
    }
    expect(sides[0]).toEqual(sides[1]);
    expect(sides[0]).toHaveLength(25);
  });

  it('continues with tool results, by its items or by the id of the previous response', async () => {
    const script = [twoCalls, respondWith('5 and 9'), respondWith('5 and 9')];
    await using fixture = await startGateway({ script });
    const client = fixture.client(await fixture.attempt());
    const first = await client.responses.create({ ...request, tools: [addTool] });
    const calls = first.output.filter((item) => item.type === 'function_call');
    expect(calls.map(({ arguments: said }) => JSON.parse(said))).toEqual([
      { a: 2, b: 3 },
      { a: 4, b: 5 },
    ]);
    const results = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: call_id }));
    const question = { role: 'user' as const, content: 'What is 2 + 3?' };
    const input = [question, ...first.output, ...results] as OpenAI.Responses.ResponseInput;
    await client.responses.create({ ...request, input });
    const second = await client.responses.create({ ...request, previous_response_id: first.id, input: results });
    expect(second).toMatchObject({ output_text: '5 and 9', previous_response_id: first.id });
    const [, byItems, byId] = fixture.model.requests;
    expect(byItems?.messages).toEqual(byId?.messages);
    expect(byId?.messages).toMatchObject([
      question,
      { role: 'assistant', content: 'Let me add.', reasoning_content: 'Two sums.', tool_calls: [{}, {}] },
      { role: 'tool', content: 'call_a' },
      { role: 'tool', content: 'call_b' },
    ]);
  });

  it('continues a response of another gateway, from its record', async () => {
    await using first = await startGateway({ script: [twoCalls] });
    const attempt = await first.attempt();
    const asked = { ...request, instructions: 'Be brief.', tools: [addTool] };
    const said = await first.client(attempt).responses.stream(asked).finalResponse();
    await using second = await startGateway({
      store: sharedStore(first.store),
      script: [respondWith('a'), respondWith('b')],
    });
    const { responses } = second.client(attempt);
    const results = said.output
      .filter((item) => item.type === 'function_call')
      .map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: call_id }));
    await responses.create({ ...request, previous_response_id: said.id, input: results });
    const references = said.output.map(({ id }) => ({ type: 'item_reference' as const, id: id ?? '' }));
    const question = { role: 'user' as const, content: request.input };
    await responses.create({ ...request, input: [question, ...references, ...results] });
    const [byId, byReference] = second.model.requests;
    expect(byId?.messages).toEqual(byReference?.messages);
    expect(byId?.messages).toMatchObject([question, { tool_calls: [{}, {}] }, { role: 'tool' }, { role: 'tool' }]);
  });

  it('does not continue a response of another attempt, or one with `store: false`', async () => {
    await using fixture = await startGateway({ script: [respondWith('a'), respondWith('b')] });
    const [mine, other] = [fixture.client(await fixture.attempt()), fixture.client(await fixture.attempt())];
    const kept = await mine.responses.create(request);
    const unkept = await mine.responses.create({ ...request, store: false });
    for (const [client, id] of [
      [other, kept.id],
      [mine, unkept.id],
    ] as const) {
      const call = client.responses.create({ ...request, previous_response_id: id });
      await expect(call).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
    }
  });

  it('has its structured output format translated', async () => {
    await using fixture = await startGateway({ script: [respondWith('{"sum":5}')] });
    const format = zodTextFormat(z.object({ sum: z.number() }), 'result');
    const parsed = await fixture.client(await fixture.attempt()).responses.parse({ ...request, text: { format } });
    expect(parsed.output_parsed).toEqual({ sum: 5 });
    expect(fixture.model.requests[0]?.body.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { name: 'result', strict: true },
    });
  });

  it('reports that a limit truncated it', async () => {
    await using fixture = await startGateway({ script: () => respondWith('one two three') });
    const { responses } = fixture.client(await fixture.attempt());
    const limited = { ...request, max_output_tokens: 3 };
    const whole = await responses.create(limited);
    expect(whole).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    const last: string[] = [];
    for await (const { type } of await responses.create({ ...limited, stream: true })) last.push(type);
    expect(last.at(-1)).toBe('response.incomplete');
  });

  it('is an unattributed call at an address without an attempt', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const final = await fixture.client().responses.stream(request).finalResponse();
    expect(final.output_text).toBe('5');
    expect(final.usage?.output_tokens).toBe(2);
    expect(fixture.gateway.state().inFlight).toBe(0);
  });
});

describe('a Responses call that fails', () => {
  it('because it requests a built-in tool has the reason, and is not sent', async () => {
    await using fixture = await startGateway();
    const call = fixture
      .client(await fixture.attempt())
      .responses.create({ ...request, tools: [{ type: 'computer' }] });
    await expect(call).rejects.toMatchObject({ status: 400, type: 'invalid_request_error', param: 'tools[0].type' });
  });

  it('because the model rejects it has the model’s message', async () => {
    await using fixture = await startGateway({ script: [failWith(400, { message: 'too many tokens' })] });
    const attempt = await fixture.attempt();
    await expect(fixture.client(attempt).responses.create(request)).rejects.toThrow(/too many tokens/);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([{ isTrainable: false }]);
  });

  it.each([
    [422, '{"detail":[{"loc":["body","n"],"msg":"Too many"}]}', /body\.n: Too many/],
    [400, 'no such model', /no such model/],
    [500, '{"detail":"out of memory"}', /out of memory/],
    [200, '{"error":"out of memory"}', /out of memory/],
  ])('because the model responds with %i and %s has its message', async (status, body, words) => {
    await using upstream = await startUpstream((response) => void response.writeHead(status).end(body));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    await expect(fixture.client(attempt).responses.create(request)).rejects.toThrow(words);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([{ untrainableReason: expect.stringMatching(words) }]);
  });

  it.each([
    ['died', { cutAfterChunks: 3 }, /broke off/],
    ['said so', { errorAfterChunks: 3 }, /scripted stream error/],
  ])('because the upstream %s in the middle ends with error events', async (_, step, words) => {
    await using fixture = await startGateway({ script: [respondWith('one two three', step)] });
    const attempt = await fixture.attempt();
    const response = await fetch(`${fixture.client(attempt).baseURL}/responses`, {
      method: 'POST',
      body: JSON.stringify({ ...request, stream: true }),
    });
    const events = (await response.text()).split('\n\n').filter((text) => text !== '');
    const data = events.map((text) => JSON.parse(text.slice(text.indexOf('data: ') + 6)));
    expect(data.slice(-2)).toMatchObject([
      { type: 'error', message: expect.stringMatching(words) },
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error' } } },
    ]);
    expect(data.map((event) => event.sequence_number)).toEqual(data.map((_event, index) => index));
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
    const stream = await fixture.client(attempt).responses.create({ ...request, stream: true });
    for await (const event of stream) if (event.type === 'response.output_text.delta' && event.delta === 'two ') break;
    await fixture.model.waitForDisconnects(1);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([
      { isTrainable: false, response: { choices: [{ message: { content: 'one two ' } }] } },
    ]);
    never.send();
  });
});

describe('a Responses call to a model that has Responses', () => {
  const capture = 'text';

  it('is forwarded unchanged, streamed and not, and recorded by its id', async () => {
    await using fixture = await startGateway({ script: () => twoCalls });
    const { baseUrl } = fixture.model;
    fixture.gateway.setUpstream({ baseUrl, model: 'policy', apis: ['responses'] });
    const attempt = await fixture.attempt();
    const { responses } = fixture.client(attempt);
    const whole = await responses.create({ ...request, tools: [addTool] });
    const final = await responses.stream({ ...request, tools: [addTool] }).finalResponse();
    expect(final.output.map(({ type }) => type)).toEqual(whole.output.map(({ type }) => type));
    expect(fixture.model.requests.map(({ api, body }) => [api, body.model])).toEqual([
      ['responses', 'policy'],
      ['responses', 'policy'],
    ]);
    const calls = await fixture.calls(attempt);
    expect(calls.map(({ responseId, isTrainable }) => [responseId, isTrainable])).toEqual([
      [whole.id, false],
      [final.id, false],
    ]);
    expect(calls[1]?.response).toMatchObject({ object: 'response', status: 'completed' });
    expect((await fixture.spans(attempt))[1]?.attributes).toMatchObject({
      'gen_ai.usage.output_tokens': whole.usage?.output_tokens,
      'agentlightning.partial': false,
    });
  });

  it('is tried there once without `apis`, and translated from then on if unsupported', async () => {
    const body = {
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content: '5' }, finish_reason: 'stop' }],
    };
    await using upstream = await startUpstream((response, index) => {
      if (index === 0) response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, capture } });
    const attempt = await fixture.attempt();
    const { responses } = fixture.client(attempt);
    for (let call = 0; call < 2; call += 1) expect((await responses.create(request)).output_text).toBe('5');
    expect(upstream.requests.map(({ body: sent }) => 'messages' in JSON.parse(sent))).toEqual([false, true, true]);
    expect(await fixture.calls(attempt)).toHaveLength(2);
  });

  it('with an unknown model gets the error, and the API stays in use', async () => {
    await using upstream = await startUpstream((response) => {
      const error = { message: 'The model `x` does not exist', code: 'model_not_found' };
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, capture } });
    const { responses } = fixture.client();
    for (let call = 0; call < 2; call += 1) await expect(responses.create(request)).rejects.toThrow(/does not exist/);
    expect(upstream.requests.every(({ body: sent }) => 'input' in JSON.parse(sent))).toBe(true);
  });
});
