import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { emitReward, type RolloutContext, withRollout } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import {
  aRolloutContext,
  callTool,
  failWith,
  MemorySpanSink,
  respondWith,
  ScriptedModel,
} from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { traceFetch } from './trace-fetch.ts';

const messages = [{ role: 'user' as const, content: 'What is 2 + 3?' }];
const vllm = { logprobs: true, return_token_ids: true } as object;

function clientOf(model: ScriptedModel, options: Parameters<typeof traceFetch>[0] = {}, maxRetries = 0): OpenAI {
  return new OpenAI({ baseURL: model.baseUrl, apiKey: 'agents-own-key', maxRetries, fetch: traceFetch(options) });
}

function recordingContext(fields: Partial<RolloutContext> = {}): { context: RolloutContext; sink: MemorySpanSink } {
  const sink = new MemorySpanSink();
  return { sink, context: aRolloutContext({ sink, parentSpanId: 'feedfeedfeedfeed', ...fields }) };
}

function endpointOf(gateway: ScriptedModel): RolloutContext['endpoint'] {
  const baseUrl = gateway.baseUrl.replace('/v1', '/rollout/ro-1/attempt/at-1/v1');
  return { baseUrl, model: 'policy', apiKey: 'gateway-key' };
}

test('outside a rollout the request is sent unchanged', async () => {
  await using model = await ScriptedModel.start([respondWith('5')]);
  const completion = await clientOf(model).chat.completions.create({ model: 'tiny', messages });
  expect(completion.choices[0]?.message.content).toBe('5');
  expect(model.requests[0]?.headers.authorization).toBe('Bearer agents-own-key');
  expect(model.requests[0]?.headers).not.toHaveProperty('x-agl-trace-id');
});

test('within a rollout the request has the URL, key and trace headers of the attempt', async () => {
  await using own = await ScriptedModel.start([]);
  await using gateway = await ScriptedModel.start([respondWith('5')]);
  const { context, sink } = recordingContext({ endpoint: endpointOf(gateway), agentName: 'größer' });
  const client = new OpenAI({
    baseURL: own.baseUrl,
    apiKey: 'agents-own-key',
    organization: 'org-secret',
    fetch: traceFetch(),
  });
  const completion = await withRollout(context, () => client.chat.completions.create({ model: 'tiny', messages }));
  expect(completion.choices[0]?.message.content).toBe('5');
  const [request] = gateway.requests;
  expect(request?.path).toBe('/rollout/ro-1/attempt/at-1/v1/chat/completions');
  expect(request?.body).toEqual({ model: 'tiny', messages });
  expect(request?.headers).toMatchObject({
    authorization: 'Bearer gateway-key',
    'x-agl-trace-id': context.traceId,
    'x-agl-parent-span-id': 'feedfeedfeedfeed',
    'x-agl-agent-name': encodeURIComponent('größer'),
  });
  expect(JSON.stringify(request?.headers)).not.toMatch(/agents-own-key|org-secret/);
  expect(sink.spans, 'only the gateway records the call').toEqual([]);
});

test('the agent’s key is not sent to an endpoint without a key', async () => {
  await using gateway = await ScriptedModel.start([respondWith('5')]);
  const { context } = recordingContext({ endpoint: { baseUrl: gateway.baseUrl, model: 'policy', apiKey: null } });
  await withRollout(context, () => clientOf(gateway).chat.completions.create({ model: 'tiny', messages }));
  expect(gateway.requests[0]?.headers).not.toHaveProperty('authorization');
});

test('spans emitted before a call are stored before the call is sent', async () => {
  const order: string[] = [];
  await using gateway = await ScriptedModel.start(() => {
    order.push('call');
    return respondWith('5');
  });
  const sink = {
    append: () => {},
    flush: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('flushed');
    },
  };
  const { context } = recordingContext({ sink, endpoint: endpointOf(gateway) });
  await withRollout(context, async () => {
    emitReward(1);
    await clientOf(gateway).chat.completions.create({ model: 'tiny', messages });
  });
  expect(order).toEqual(['flushed', 'call']);
});

test('the end of the rollout aborts the call', async () => {
  await using gateway = await ScriptedModel.start([respondWith('never', { until: new Promise(() => {}) })]);
  const controller = new AbortController();
  const { context } = recordingContext({ endpoint: endpointOf(gateway), signal: controller.signal });
  const call = withRollout(context, () =>
    traceFetch()(`${gateway.baseUrl}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'tiny', messages }),
    }),
  );
  const failed = expect(call).rejects.toThrow('time is up');
  while (gateway.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  controller.abort(new TypeError('time is up'));
  await failed;
  await gateway.waitForDisconnects(1);
});

test('credentials in a body are sent but not recorded', async () => {
  await using model = await ScriptedModel.start([respondWith('5')]);
  const { context, sink } = recordingContext();
  const body = { model: 'tiny', messages, api_key: 'sk-secret', extra: [{ tenant: 'sk-secret' }] };
  const traced = traceFetch({ secretFields: ['tenant'] });
  const url = `${model.baseUrl}/chat/completions`;
  await withRollout(context, async () => (await traced(url, { method: 'POST', body: JSON.stringify(body) })).text());
  expect(model.requests[0]?.body).toEqual(body);
  expect(JSON.stringify(sink.spans)).not.toContain('sk-secret');
  expect(sink.spans.map((span) => modelCallFromSpan({ ...span, sequenceId: 1 })?.request)).toEqual([
    { model: 'tiny', messages, api_key: '…', extra: [{ tenant: '…' }] },
  ]);
});

test('without an endpoint the call is recorded locally, with the tokens of the engine', async () => {
  await using model = await ScriptedModel.start([callTool('add', { a: 2, b: 3 })]);
  const { context, sink } = recordingContext({ agentName: 'adder' });
  await withRollout(context, () =>
    clientOf(model).chat.completions.create({ model: 'tiny', messages, temperature: 0.7, ...vllm }),
  );
  const [span] = sink.spans;
  expect(span).toMatchObject({
    name: 'openai.chat.completion',
    parentId: 'feedfeedfeedfeed',
    traceId: context.traceId,
    status: { code: 'OK' },
  });
  const call = span && modelCallFromSpan(span);
  expect(call).toMatchObject({
    responseId: 'chatcmpl-0',
    model: 'tiny',
    agentName: 'adder',
    temperature: 0.7,
    isTrainable: true,
    request: { model: 'tiny', messages },
    response: { choices: [{ message: { tool_calls: [{ function: { name: 'add' } }] } }] },
  });
  expect(call?.promptTokenIds.length).toBeGreaterThan(10);
  expect(call?.choices[0]?.responseTokenIds.length).toBe(call?.choices[0]?.responseLogprobs.length);
  expect(span?.attributes['agentlightning.response_body']).not.toContain('token_ids');
});

test('a call without token ids is recorded as not trainable', async () => {
  await using model = await ScriptedModel.start([respondWith('5')]);
  const { context, sink } = recordingContext();
  await withRollout(context, () => clientOf(model).chat.completions.create({ model: 'tiny', messages }));
  expect(sink.spans[0]?.attributes).toMatchObject({
    'agentlightning.trainable': false,
    'agentlightning.untrainable_reason': 'the upstream gave no prompt token ids',
    'gen_ai.usage.output_tokens': 2,
  });
});

test('with redirect: false the call is recorded locally despite an endpoint', async () => {
  await using model = await ScriptedModel.start([respondWith('5')]);
  await using gateway = await ScriptedModel.start([]);
  const { context, sink } = recordingContext({ endpoint: endpointOf(gateway) });
  await withRollout(context, () =>
    clientOf(model, { redirect: false }).chat.completions.create({ model: 'tiny', messages }),
  );
  expect(sink.spans).toHaveLength(1);
});

test('a model excluded by shouldTrace is neither redirected nor recorded', async () => {
  await using judge = await ScriptedModel.start([respondWith('good')]);
  await using gateway = await ScriptedModel.start([]);
  const { context, sink } = recordingContext({ endpoint: endpointOf(gateway) });
  const client = clientOf(judge, { shouldTrace: ({ model }) => model !== 'judge' });
  await withRollout(context, () => client.chat.completions.create({ model: 'judge', messages }));
  expect(judge.requests[0]?.headers.authorization).toBe('Bearer agents-own-key');
  expect(sink.spans).toEqual([]);
});

test('every retry of a client is recorded, failures as errors', async () => {
  await using model = await ScriptedModel.start([
    failWith(500, { headers: { 'retry-after-ms': '1' } }),
    failWith(429, { headers: { 'retry-after-ms': '1' } }),
    respondWith('5'),
  ]);
  const { context, sink } = recordingContext();
  await withRollout(context, () =>
    clientOf(model, {}, 2).chat.completions.create({ model: 'tiny', messages, ...vllm }),
  );
  expect(sink.spans.map((span) => span.attributes['agentlightning.http_status'])).toEqual([500, 429, 200]);
  expect(sink.spans.map((span) => span.attributes['http.request.resend_count'])).toEqual([undefined, 1, 2]);
  expect(sink.spans.map((span) => span.status.code)).toEqual(['ERROR', 'ERROR', 'OK']);
  expect(sink.spans.map((span) => span.attributes['agentlightning.trainable'])).toEqual([false, false, true]);
});

test('an API error reaches the agent unchanged, and its message the span', async () => {
  await using model = await ScriptedModel.start([failWith(400, { message: 'no such tool' })]);
  const { context, sink } = recordingContext();
  const call = withRollout(context, () => clientOf(model).chat.completions.create({ model: 'tiny', messages }));
  await expect(call).rejects.toThrow('400 no such tool');
  expect(sink.spans[0]?.status).toEqual({ code: 'ERROR', message: 'HTTP status 400: no such tool' });
});

test('an unreachable server is an error in the agent and in the trace', async () => {
  const model = await ScriptedModel.start([]);
  await model.close();
  const { context, sink } = recordingContext();
  const { baseUrl } = await stoppedServer();
  const client = new OpenAI({ baseURL: baseUrl, apiKey: 'x', maxRetries: 0, fetch: traceFetch() });
  const call = withRollout(context, () => client.chat.completions.create({ model: 'tiny', messages }));
  await expect(call).rejects.toThrow('Connection error');
  expect(sink.spans[0]?.status.message).toContain('the call failed: fetch failed');
});

test('requests other than model calls pass through within a rollout', async () => {
  const seen: string[] = [];
  await using server = await listening(
    createServer(async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      seen.push(`${request.method} ${request.url} ${body}`);
      response.end('{}');
    }),
  );
  await using gateway = await ScriptedModel.start([]);
  const { context, sink } = recordingContext({ endpoint: endpointOf(gateway) });
  const traced = traceFetch();
  await withRollout(context, async () => {
    await traced(`${server.url}/weather`);
    await traced(`${server.url}/chat/completions`);
    await traced(`${server.url}/channels/1/messages`, { method: 'POST', body: '{"content":"hi"}' });
    await traced(`${server.url}/completions`, { method: 'POST', body: 'no json' });
    await traced(new Request(`${server.url}/embeddings`, { method: 'POST', body: '{"other":1}' }));
    await traced(`${server.url}/responses`, { method: 'POST', body: streamOf('{"other":2}'), duplex: 'half' });
  });
  expect(seen).toEqual([
    'GET /weather ',
    'GET /chat/completions ',
    'POST /channels/1/messages {"content":"hi"}',
    'POST /completions no json',
    'POST /embeddings {"other":1}',
    'POST /responses {"other":2}',
  ]);
  expect(sink.spans).toEqual([]);
});

test('a Request object is accepted and keeps its query', async () => {
  await using gateway = await ScriptedModel.start([respondWith('5')]);
  const { context } = recordingContext({ endpoint: endpointOf(gateway) });
  const request = new Request('https://azure.example/openai/deployments/x/chat/completions?api-version=1', {
    method: 'POST',
    headers: { 'api-key': 'secret', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'x', messages }),
  });
  const response = await withRollout(context, () => traceFetch()(request));
  expect(response.status).toBe(200);
  expect(gateway.requests[0]?.path).toBe('/rollout/ro-1/attempt/at-1/v1/chat/completions?api-version=1');
  expect(gateway.requests[0]?.headers).not.toHaveProperty('api-key');
});

async function listening(server: Server): Promise<AsyncDisposable & { readonly url: string }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The URL of a server that has stopped. */
async function stoppedServer(): Promise<{ readonly baseUrl: string }> {
  await using server = await listening(createServer());
  return { baseUrl: `${server.url}/v1` };
}

function streamOf(text: string): ReadableStream<Uint8Array> {
  return new Blob([text]).stream();
}

test('embeddings are not redirected: the policy model has none', async () => {
  await using own = await ScriptedModel.start(() => respondWith('stands for embeddings'));
  await using gateway = await ScriptedModel.start([]);
  const { context, sink } = recordingContext({ endpoint: endpointOf(gateway) });
  const body = JSON.stringify({ model: 'embed', input: 'hello' });
  await withRollout(context, () =>
    traceFetch()(`${own.baseUrl}/embeddings`, { method: 'POST', body }).then((response) => response.text()),
  );
  expect(gateway.requests).toEqual([]);
  expect(sink.spans).toMatchObject([{ name: 'openai.embedding' }]);
});

test('the end of the rollout aborts a locally recorded call', async () => {
  await using model = await ScriptedModel.start([respondWith('never', { until: new Promise(() => {}) })]);
  const controller = new AbortController();
  const { context } = recordingContext({ signal: controller.signal });
  const call = withRollout(context, () =>
    traceFetch()(`${model.baseUrl}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'tiny', messages }),
    }),
  );
  const failed = expect(call).rejects.toThrow('time is up');
  while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  controller.abort(new TypeError('time is up'));
  await failed;
  await model.waitForDisconnects(1);
});

test('a single-use body arrives complete, including a Node stream', async () => {
  await using model = await ScriptedModel.start([respondWith('5')]);
  const { context } = recordingContext();
  const body = Readable.from([JSON.stringify({ model: 'tiny', messages })]);
  await withRollout(context, () =>
    traceFetch()(`${model.baseUrl}/chat/completions`, { method: 'POST', body, duplex: 'half' }),
  );
  expect(model.requests[0]?.body).toEqual({ model: 'tiny', messages });
});
