import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { AttemptPatch } from '@agentlightning/core/store';
import { callTool, respondWith } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { describe, expect, it } from 'vitest';
import {
  completionBody,
  completionChunk,
  type GatewayFixture,
  respondJson,
  simpleRequest,
  startGateway,
  startUpstream,
  storeWith,
} from './gateway-fixture.ts';

describe('a call that is not streamed', () => {
  it('returns the response of the model and is recorded with its tokens', async () => {
    await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, model: 'policy' } });
    const attempt = await fixture.attempt('train');
    const completion = await fixture.client(attempt).chat.completions.create({ ...simpleRequest, temperature: 0.5 });
    expect(completion).toEqual({
      id: 'chatcmpl-7',
      object: 'chat.completion',
      created: 1,
      model: 'policy-7',
      choices: [{ index: 0, message: { role: 'assistant', content: '5' }, finish_reason: 'stop', logprobs: null }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({
      responseId: 'chatcmpl-7',
      model: 'policy',
      promptTokenIds: [10, 11, 12],
      choices: [{ index: 0, responseTokenIds: [20, 21], responseLogprobs: [-0.25, -0.5], finishReason: 'stop' }],
      temperature: 0.5,
      isTrainable: true,
      untrainableReason: null,
      request: { ...simpleRequest, temperature: 0.5 },
      response: completion,
    });
  });

  it('is sent with the upstream’s model and the fields that request tokens', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    await fixture.client(await fixture.attempt()).chat.completions.create({ ...simpleRequest, user: 'me' });
    expect(fixture.model.requests[0]?.body).toEqual({
      ...simpleRequest,
      user: 'me',
      model: 'policy',
      logprobs: true,
      return_token_ids: true,
    });
  });

  it('returns log-probabilities that the agent requested', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const completion = await fixture
      .client(await fixture.attempt())
      .chat.completions.create({ ...simpleRequest, logprobs: true });
    expect(completion.choices[0]?.logprobs?.content).toHaveLength(2);
    expect(completion).not.toHaveProperty('prompt_token_ids');
  });

  it('is recorded if objects in it have keys of Object.prototype', async () => {
    await using fixture = await startGateway({ script: () => respondWith('5') });
    const attempt = await fixture.attempt();
    const request = { type: { toString: 1, __proto__: null } };
    const body = { ...simpleRequest, messages: [{ role: 'user', content: [request] }] };
    const url = `${fixture.baseUrl(attempt)}/chat/completions`;
    await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([{ request: body }]);
  });

  it('records latency, usage and mode', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const attempt = await fixture.attempt('val');
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    const [span] = await fixture.spans(attempt);
    expect(span?.attributes).toMatchObject({
      'agentlightning.mode': 'val',
      'agentlightning.stream': false,
      'agentlightning.http_status': 200,
      'gen_ai.usage.output_tokens': 2,
      'agentlightning.latency_ms': expect.any(Number),
      'agentlightning.time_to_first_token_ms': expect.any(Number),
    });
  });

  it('records the cached tokens of the prompt', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 2 } };
    await using upstream = await startUpstream((response) => respondJson(response, completionBody({ usage })));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    const [span] = await fixture.spans(attempt);
    expect(span?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 3,
      'gen_ai.usage.cache_read.input_tokens': 2,
    });
  });

  it.each([
    ['the header', {}, { 'x-agl-policy-version': '12' }],
    ['the body', { policy_version: 12 }, {}],
    ['both', { policy_version: 12 }, { 'x-agl-policy-version': '12' }],
  ])('takes the policy version from %s', async (_, changes, headers) => {
    await using upstream = await startUpstream((response) => respondJson(response, completionBody(changes), headers));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect((await fixture.calls(attempt))[0]).toMatchObject({ policyVersion: 12, isTrainable: true, model: 'gpt-4o' });
  });

  it.each([true, false])('records the policy version of each token, streamed: %s', async (stream) => {
    const changes = [{ policy_version: 12 }, { policy_versions: [12, 13] }] as const;
    await using upstream = await startUpstream((response) => {
      if (!stream) return respondJson(response, completionBody(...changes));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify(completionChunk(...changes))}\n\ndata: [DONE]\n\n`);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const url = `${fixture.baseUrl(attempt)}/chat/completions`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ ...simpleRequest, stream }) });
    expect(await response.text()).not.toContain('policy_versions');
    await fixture.gateway.drain();
    expect((await fixture.calls(attempt))[0]).toMatchObject({
      policyVersion: 12,
      isTrainable: true,
      choices: [{ responseTokenIds: [20, 21], responsePolicyVersions: [12, 13] }],
    });
  });

  it('records every choice', async () => {
    await using fixture = await startGateway({ script: [respondWith('blue')] });
    const attempt = await fixture.attempt();
    const completion = await fixture.client(attempt).chat.completions.create({ ...simpleRequest, n: 3 });
    expect(completion.choices).toHaveLength(3);
    const [call] = await fixture.calls(attempt);
    expect(call?.isTrainable).toBe(true);
    expect(call?.choices.map((choice) => [choice.index, choice.responseTokenIds.length])).toEqual([
      [0, 5],
      [1, 5],
      [2, 5],
    ]);
  });

  it('records tool calls with their turns in order', async () => {
    await using fixture = await startGateway({ script: [callTool('add', { a: 2, b: 3 }), respondWith('5')] });
    const attempt = await fixture.attempt();
    const client = fixture.client(attempt);
    const first = await client.chat.completions.create(simpleRequest);
    const message = first.choices[0]?.message;
    if (message === undefined) return expect.unreachable();
    const result = { role: 'tool' as const, tool_call_id: message.tool_calls?.[0]?.id ?? '', content: '5' };
    await client.chat.completions.create({ ...simpleRequest, messages: [...simpleRequest.messages, message, result] });
    const calls = await fixture.calls(attempt);
    expect(calls.map((call) => call.sequenceId)).toEqual([1, 2]);
    expect(calls.map((call) => call.choices[0]?.finishReason)).toEqual(['tool_calls', 'stop']);
  });
});

describe('a call with inconsistent tokens', () => {
  it.each([
    { what: 'without prompt ids', body: { prompt_token_ids: null }, reason: /no prompt token ids/ },
    { what: 'without response ids', choice: { token_ids: null }, reason: /no response token ids/ },
    {
      what: 'with too few log-probabilities',
      choice: { logprobs: { content: [{ logprob: -1 }] } },
      reason: /2 response token ids, but 1 log-probabilities/,
    },
    {
      what: 'whose usage counts other responses',
      body: { usage: { prompt_tokens: 3, completion_tokens: 9 } },
      reason: /2 response token ids, but the usage says 9/,
    },
    {
      what: 'whose usage counts other prompts',
      body: { usage: { prompt_tokens: 4, completion_tokens: 2 } },
      reason: /3 prompt token ids, but the usage says 4/,
    },
    { what: 'without a finish reason', choice: { finish_reason: null }, reason: /without a finish reason/ },
    { what: 'of two policy versions', body: { policy_version: 2 }, reason: /weights changed/ },
  ])('$what is returned, recorded, and untrainable', async ({ body, choice, reason }) => {
    const headers = { 'x-agl-policy-version': '1' };
    await using upstream = await startUpstream((response) =>
      respondJson(response, completionBody(body, choice), headers),
    );
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const completion = await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(completion.choices[0]?.message.content).toBe('5');
    const [call] = await fixture.calls(attempt);
    expect(call?.isTrainable).toBe(false);
    expect(call?.untrainableReason).toMatch(reason);
  });
});

describe('sampling by mode', () => {
  const sampling = { train: { temperature: 1, topP: 1, maxTokens: 64 }, val: { temperature: 0, seed: 5 } };

  it('overrides the agent’s, and the lower token limit applies', async () => {
    await using fixture = await startGateway({ script: [respondWith('5'), respondWith('5')], sampling });
    const attempt = await fixture.attempt('train');
    const client = fixture.client(attempt);
    await client.chat.completions.create({ ...simpleRequest, temperature: 0.2, max_completion_tokens: 500 });
    await client.chat.completions.create({ ...simpleRequest, max_tokens: 10 });
    const [first, second] = fixture.model.requests;
    expect(first?.body).toMatchObject({ temperature: 1, top_p: 1, max_completion_tokens: 64 });
    expect(first?.body).not.toHaveProperty('max_tokens');
    expect(second?.body).toMatchObject({ temperature: 1, max_tokens: 10 });
    expect((await fixture.calls(attempt)).map((call) => call.temperature)).toEqual([1, 1]);
  });

  it('leaves the parameters that alter sampling in the record of the call', async () => {
    await using fixture = await startGateway({ script: [respondWith('5'), respondWith('5')], sampling });
    const attempt = await fixture.attempt('train');
    const client = fixture.client(attempt);
    await client.chat.completions.create({ ...simpleRequest, top_p: 0.5, presence_penalty: 1 });
    await client.chat.completions.create({ ...simpleRequest, top_p: 0.5 });
    const calls = await fixture.calls(attempt);
    expect(calls.map(({ alteredSampling = [] }) => alteredSampling)).toEqual([['presence_penalty'], []]);
  });

  it('differs for validation, with a seed per call that another gateway reproduces', async () => {
    const script = Array.from({ length: 4 }, () => respondWith('5'));
    const seeds: unknown[] = [];
    for (let run = 0; run < 2; run += 1) {
      await using fixture = await startGateway({ script, sampling });
      const { rolloutId } = await fixture.store.startRollout({ rolloutId: 'ro-fixed', input: 1, mode: 'val' });
      const [attempt] = (await fixture.store.queryRollouts({ rolloutIdIn: [rolloutId] })).items;
      if (attempt === undefined || !('attempt' in attempt)) return expect.unreachable();
      for (let call = 0; call < 4; call += 1) await fixture.client(attempt).chat.completions.create(simpleRequest);
      seeds.push(fixture.model.requests.map(({ body }) => body.seed));
      expect(fixture.model.requests[0]?.body).toMatchObject({ temperature: 0, seed: expect.any(Number) });
    }
    expect(seeds[0]).toEqual(seeds[1]);
    expect(new Set(seeds[0] as number[]).size).toBe(4);
  });

  it('has the seed of the run when the gateway was not started for it', async () => {
    const seeds: unknown[] = [];
    for (const [own, metadata] of [
      [{ sampling: { train: { seed: 5 } } }, null],
      [{}, { sampling_seed: 5 }],
      [{}, null],
    ] as const) {
      await using fixture = await startGateway({ script: [respondWith('5')], ...own });
      const request = { rolloutId: 'ro-fixed', input: 1, mode: 'train', ...(metadata && { metadata }) } as const;
      const rollout = await fixture.store.startRollout(request);
      await fixture.client(rollout).chat.completions.create(simpleRequest);
      seeds.push(fixture.model.requests[0]?.body.seed);
    }
    expect(seeds).toEqual([expect.any(Number), seeds[0], undefined]);
  });

  it('has the seeds of an uninterrupted attempt after a restart of the gateway', async () => {
    await using first = await startGateway({ sampling, script: () => respondWith('5') });
    const attempt = await first.attempt('val');
    const complete = async (fixture: GatewayFixture): Promise<unknown> =>
      await fixture.client(attempt).chat.completions.create(simpleRequest);
    await complete(first);
    await complete(first);
    const store = storeWith(first.store, { close: async () => undefined });
    await using second = await startGateway({ sampling, store, script: () => respondWith('5') });
    await complete(second);
    await complete(first);
    const seedOf = (fixture: GatewayFixture, index: number): unknown => fixture.model.requests[index]?.body.seed;
    expect(seedOf(second, 0)).toBe(seedOf(first, 2));
    expect(seedOf(second, 0)).not.toBe(seedOf(first, 0));
  });

  it('repeats the seed of a lost attempt, and changes it after one that the agent failed', async () => {
    const script = Array.from({ length: 4 }, () => respondWith('5'));
    await using fixture = await startGateway({ script, sampling });
    const { rolloutId } = await fixture.store.startRollout({ input: 1, mode: 'val' });
    const endings: readonly AttemptPatch[] = [
      { status: 'unresponsive' },
      { status: 'failed', metadata: { error: { code: 'AGENT_FAILED', message: '503', origin: 'infrastructure' } } },
      { status: 'failed', metadata: { error: { code: 'AGENT_FAILED', message: 'no key', origin: 'agent' } } },
    ];
    for (const ending of [...endings, { status: 'succeeded' } as const]) {
      const rollout = await fixture.store.getRollout(rolloutId);
      const attempt = await fixture.store.getLatestAttempt(rolloutId);
      if (attempt === null) return expect.unreachable();
      await fixture.client({ ...rollout, attempt }).chat.completions.create(simpleRequest);
      await fixture.store.updateAttempt(rolloutId, attempt.attemptId, ending);
      if (ending.status !== 'succeeded') await fixture.store.startAttempt(rolloutId);
    }
    const seeds = fixture.model.requests.map(({ body }) => body.seed);
    expect(seeds).toEqual([seeds[0], seeds[0], seeds[0], expect.any(Number)]);
    expect(seeds[3]).not.toBe(seeds[0]);
  });

  it('does not change a rollout without a mode', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')], sampling });
    await fixture.client(await fixture.attempt()).chat.completions.create(simpleRequest);
    expect(fixture.model.requests[0]?.body).not.toHaveProperty('temperature');
  });
});

describe('headers', () => {
  it('place the call under the agent’s span, and are not forwarded', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')], forwardHeaders: ['X-Mine', 'cookie'] });
    const attempt = await fixture.attempt();
    const headers = {
      'x-agl-parent-span-id': '00f067aa0ba902b7',
      'x-agl-trace-id': '4bf92f3577b34da6a3ce929d0e0e4736',
      'x-agl-agent-name': encodeURIComponent('größer'),
      'x-agl-agent-path': `${encodeURIComponent('boss > all')}>${encodeURIComponent('größer')}`,
      'x-mine': 'kept',
      'x-other': 'dropped',
      'x-goog-api-key': 'AIza-secret',
      cookie: 'session=secret',
    };
    const { response } = await fixture
      .client(attempt)
      .chat.completions.create(simpleRequest, { headers })
      .withResponse();
    const [span] = await fixture.spans(attempt);
    expect(span).toMatchObject({ parentId: '00f067aa0ba902b7', traceId: '4bf92f3577b34da6a3ce929d0e0e4736' });
    expect(response.headers.get('x-agl-span-id')).toBe(span?.spanId);
    expect((await fixture.calls(attempt))[0]).toMatchObject({
      agentName: 'größer',
      agentPath: ['boss > all', 'größer'],
    });
    const sent = fixture.model.requests[0]?.headers ?? {};
    expect(Object.keys(sent).filter((name) => name.startsWith('x-agl-'))).toEqual([]);
    expect([sent['x-mine'], sent['x-other']]).toEqual(['kept', undefined]);
    expect(JSON.stringify(sent)).not.toContain('secret');
  });

  it('carry the upstream’s key instead of the client’s, and the key is not recorded', async () => {
    await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
    await using fixture = await startGateway({
      upstream: { baseUrl: upstream.baseUrl, apiKey: 'vendor-key', headers: { 'x-org': 'org-secret' } },
    });
    const attempt = await fixture.attempt();
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(upstream.requests[0]?.headers).toMatchObject({ authorization: 'Bearer vendor-key', 'x-org': 'org-secret' });
    const text = JSON.stringify(await fixture.spans(attempt));
    expect(text).not.toMatch(/vendor-key|org-secret|unused/);
  });
});

describe('other addresses', () => {
  it('forward unattributed calls unchanged, and record them in a separate rollout', async () => {
    await using fixture = await startGateway({ script: [respondWith('5'), respondWith('one two')] });
    const client = fixture.client();
    const completion = await client.chat.completions.create(simpleRequest);
    expect(completion.choices[0]?.message.content).toBe('5');
    const stream = await client.chat.completions.create({ ...simpleRequest, stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('one two');
    expect(fixture.model.requests[0]?.body).toEqual({ ...simpleRequest, model: 'policy' });
    await fixture.gateway.drain();
    const { items } = await fixture.store.queryRollouts();
    expect(items).toMatchObject([{ input: { unattributedCalls: true }, mode: null, runId: null, status: 'running' }]);
    const spans = (await fixture.store.querySpans({ rolloutId: items[0]?.rolloutId ?? '' })).items;
    expect(spans.map(modelCallFromSpan)).toMatchObject([{ isTrainable: false }, { isTrainable: false }]);
    await fixture.gateway.close();
    expect((await fixture.store.queryRollouts()).items).toMatchObject([{ status: 'succeeded' }]);
  });

  it('return unattributed calls when the store cannot record them', async () => {
    const inner = await openStore(':memory:');
    const store = storeWith(inner, { startRollout: () => Promise.reject(new Error('the disk is full')) });
    await using fixture = await startGateway({ store, script: [respondWith('5')] });
    expect((await fixture.client().chat.completions.create(simpleRequest)).choices).toHaveLength(1);
  });

  it('do not record unattributed calls with `unattributedCalls: pass`', async () => {
    await using fixture = await startGateway({ script: () => respondWith('one two'), unattributedCalls: 'pass' });
    await fixture.client().chat.completions.create(simpleRequest);
    for await (const _ of await fixture.client().chat.completions.create({ ...simpleRequest, stream: true }));
    await fixture.gateway.drain();
    expect((await fixture.store.statistics()).totalRollouts).toBe(0);
  });

  it('list the upstream’s models', async () => {
    await using upstream = await startUpstream((response) => respondJson(response, { data: [{ id: 'tiny' }] }));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const models = await fixture.client(await fixture.attempt()).models.list();
    expect(models.data).toEqual([{ id: 'tiny' }]);
  });

  it('request no additional fields of `capture: text` upstreams, whose calls are untrainable', async () => {
    await using upstream = await startUpstream((response) =>
      respondJson(response, completionBody({ prompt_token_ids: null }, { token_ids: null, logprobs: null })),
    );
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, capture: 'text' } });
    const attempt = await fixture.attempt();
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toEqual(simpleRequest);
    expect((await fixture.calls(attempt))[0]).toMatchObject({ isTrainable: false });
  });
});

it('integers that JavaScript does not represent reach the upstream and the record unchanged', async () => {
  await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
  await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
  const attempt = await fixture.attempt();
  const tool = '{"type":"function","function":{"name":"like","parameters":{"maximum":9223372036854775807}}}';
  const body = `{"model":"m","api_key":"sk","messages":[{"role":"user","content":"hi"}],"tools":[${tool}]}`;
  const headers = { 'content-type': 'application/json' };
  await fetch(`${fixture.baseUrl(attempt)}/chat/completions`, { method: 'POST', headers, body });
  expect(upstream.requests[0]?.body).toContain(tool);
  const [span] = await fixture.spans(attempt);
  expect(span?.attributes['agentlightning.request_body']).toContain(tool);
});
