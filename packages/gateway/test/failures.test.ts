import type { Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { failWith, respondWith, type ScriptedFailure } from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { serveGateway } from '../src/index.ts';
import { completionBody, respondJson, simpleRequest, startGateway, startUpstream } from './gateway-fixture.ts';

/** Sends a body to the plain address. */
function post(url: string, body: string | ReadableStream): Promise<Response> {
  const init = { method: 'POST', body, duplex: 'half' as const, headers: { 'content-type': 'application/json' } };
  return fetch(`${url}/v1/chat/completions`, init);
}

/** The error of a failed call. */
async function failure(call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof OpenAI.APIError) return error;
  return expect.unreachable(`the call did not fail with an API error: ${String(error)}`);
}

describe('a rejected call', () => {
  it('names an id that no rollout or attempt can have: 400', async () => {
    await using fixture = await startGateway();
    const { rolloutId, attempt } = await fixture.attempt();
    const { attemptId } = attempt;
    for (const address of [`no%20id/attempt/${attemptId}`, `%00/attempt/${attemptId}`, `${rolloutId}/attempt/%2F..`]) {
      const url = `${fixture.gateway.url}/rollout/${address}`;
      const response = await post(url, JSON.stringify(simpleRequest));
      expect({ address, status: response.status }).toEqual({
        address,
        status: 400,
      });
    }
    const invalid = await post(
      `${fixture.gateway.url}/rollout/no%20id/attempt/${attemptId}`,
      JSON.stringify(simpleRequest),
    );
    expect(await invalid.json()).toMatchObject({
      error: { code: 'VALIDATION', message: expect.stringContaining('is not an id') },
    });
  });

  it('names a rollout or attempt that does not exist: 404', async () => {
    await using fixture = await startGateway();
    const attempt = await fixture.attempt();
    const unknownRollout = fixture.client({ ...attempt, rolloutId: 'ro-none' });
    const unknownAttempt = fixture.client({ ...attempt, attempt: { ...attempt.attempt, attemptId: 'at-none' } });
    for (const [client, name] of [
      [unknownRollout, 'ro-none'],
      [unknownAttempt, 'at-none'],
    ] as const) {
      const error = await failure(client.chat.completions.create(simpleRequest));
      expect(error).toMatchObject({ status: 404, code: 'NOT_FOUND', type: 'invalid_request_error' });
      expect(error.message).toMatch(new RegExp(`${name}.* not found`));
    }
  });

  it('belongs to an attempt that has ended: 409, not sent, not recorded, not retried', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const attempt = await fixture.attempt();
    const client = fixture.client(attempt, 2);
    await client.chat.completions.create(simpleRequest);
    await fixture.store.updateAttempt(attempt.rolloutId, attempt.attempt.attemptId, { status: 'succeeded' });
    const error = await failure(client.chat.completions.create(simpleRequest));
    expect(error).toMatchObject({ status: 409, code: 'CONFLICT' });
    expect(error.message).toContain('is succeeded');
    expect(fixture.model.requests).toHaveLength(1);
    expect(await fixture.spans(attempt)).toHaveLength(1);
  });

  it('belongs to a rollout that was cancelled: 409', async () => {
    await using fixture = await startGateway();
    const attempt = await fixture.attempt();
    await fixture.store.updateRollout(attempt.rolloutId, { status: 'cancelled' });
    expect(await failure(fixture.client(attempt).chat.completions.create(simpleRequest))).toMatchObject({
      status: 409,
    });
  });

  it.each(['{"model":', '[1]', ''])('has the body %j, which is not a JSON object: 400', async (body) => {
    await using fixture = await startGateway();
    const response = await post(fixture.gateway.url, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'VALIDATION', type: 'invalid_request_error' } });
    expect(fixture.gateway.state().inFlight).toBe(0);
  });

  it('is too large, with or without a declared length: 413', async () => {
    await using fixture = await startGateway({ maxBodyBytes: 100 });
    const text = JSON.stringify({ ...simpleRequest, padding: 'x'.repeat(100) });
    for (const body of [text, new Blob([text]).stream()]) {
      const response = await post(fixture.gateway.url, body);
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
    }
  });

  it('carries a wrong key: 401, but health is public', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')], apiKey: 'right' });
    expect(await failure(fixture.client().chat.completions.create(simpleRequest))).toMatchObject({ status: 401 });
    const rightClient = fixture.client().withOptions({ apiKey: 'right' });
    expect((await rightClient.chat.completions.create(simpleRequest)).choices).toHaveLength(1);
    const health = await fetch(`${fixture.gateway.url}/health`);
    expect(await health.json()).toEqual({
      status: 'ok',
      paused: false,
      reason: null,
      in_flight: 0,
      upstreams: [{ model: 'policy', up: true, token_ids: 'unknown', key_rejections: 0 }],
    });
  });

  it('has an unknown path: 404 with the path', async () => {
    await using fixture = await startGateway();
    const response = await fetch(`${fixture.gateway.url}/v1/nothing`);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('GET /v1/nothing');
  });
});

describe('an upstream that fails', () => {
  it.each([500, 503, 429, 408, 409])('with %i once is retried', async (status) => {
    await using fixture = await startGateway({ script: [failWith(status), failWith(status), respondWith('5')] });
    const attempt = await fixture.attempt();
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(fixture.model.requests).toHaveLength(3);
    expect(await fixture.calls(attempt)).toMatchObject([{ isTrainable: true }]);
  });

  it.each([500, 502, 503, 504])(
    'with %i permanently results in 502, and the call is recorded as failed',
    async (status) => {
      await using fixture = await startGateway({ script: () => failWith(status) });
      const attempt = await fixture.attempt();
      const error = await failure(fixture.client(attempt).chat.completions.create(simpleRequest));
      expect(error).toMatchObject({ status: 502, code: 'UPSTREAM_FAILED', type: 'upstream_error' });
      expect(error.message).toContain(
        `${fixture.model.baseUrl} returned ${status} after 4 tries: scripted failure ${status}`,
      );
      await fixture.gateway.drain();
      expect(await fixture.calls(attempt)).toMatchObject([{ isTrainable: false }]);
      expect((await fixture.spans(attempt))[0]?.status.code).toBe('ERROR');
    },
  );

  it('with 429 permanently results in 429, so that the client slows down', async () => {
    await using fixture = await startGateway({ script: () => failWith(429, { headers: { 'retry-after': '0' } }) });
    const error = await failure(fixture.client().chat.completions.create(simpleRequest));
    expect(error).toMatchObject({ status: 429, message: expect.stringContaining('scripted failure 429') });
  });

  it('with Retry-After is retried after that delay, not before', async () => {
    const sleeps: number[] = [];
    const clock: Clock = { now: systemClock.now, sleep: async (ms) => void sleeps.push(ms) };
    const script = [failWith(503, { headers: { 'retry-after': '2' } }), failWith(503), respondWith('5')];
    const retry = { maxRetries: 2, baseDelayMs: 100 };
    await using fixture = await startGateway({ script, clock, retry, random: () => 0.5 });
    await fixture.client().chat.completions.create(simpleRequest);
    expect(sleeps).toEqual([2000, 200]);
  });

  it('with a Retry-After above the maximum is not retried', async () => {
    await using fixture = await startGateway({ script: [failWith(429, { headers: { 'retry-after': '3600' } })] });
    const error = await failure(fixture.client().chat.completions.create(simpleRequest));
    expect(error.headers?.get('retry-after')).toBe('3600');
  });

  it('by refusing connections results in 502 with its address', async () => {
    const gone = await startUpstream(() => undefined);
    await gone[Symbol.asyncDispose]();
    await using fixture = await startGateway({ upstream: { baseUrl: gone.baseUrl } });
    const attempt = await fixture.attempt();
    const error = await failure(fixture.client(attempt).chat.completions.create(simpleRequest));
    expect(error).toMatchObject({ status: 502, code: 'UPSTREAM_FAILED' });
    expect(error.message).toContain(gone.baseUrl);
    expect(error.message).toContain('ECONNREFUSED');
  });

  it('by restarting is retried', async () => {
    const first = await startUpstream((response) => void response.destroy());
    const port = Number(new URL(first.baseUrl).port);
    await using fixture = await startGateway({
      upstream: { baseUrl: first.baseUrl },
      retry: { maxRetries: 20, baseDelayMs: 20, maxDelayMs: 20 },
    });
    const attempt = await fixture.attempt();
    const call = fixture.client(attempt).chat.completions.create(simpleRequest);
    while (first.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await first[Symbol.asyncDispose]();
    await using _second = await startUpstream((response) => respondJson(response, completionBody()), port);
    expect((await call).id).toBe('chatcmpl-7');
    expect(await fixture.calls(attempt)).toMatchObject([{ isTrainable: true }]);
  });

  it('in the middle of a response that is not streamed is retried', async () => {
    await using upstream = await startUpstream((response, index) => {
      if (index > 0) return respondJson(response, completionBody());
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
      response.write('{"id":', () => response.destroy());
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(upstream.requests).toHaveLength(2);
    expect(await fixture.calls(attempt)).toHaveLength(1);
  });

  it('that does not know the model that the gateway names has failed, as a runtime that was restarted: 502', async () => {
    await using fixture = await startGateway({ script: [failWith(404, { message: 'Unknown model "policy"' })] });
    const attempt = await fixture.attempt();
    const error = await fixture
      .client(attempt)
      .chat.completions.create(simpleRequest)
      .catch((reason: unknown) => reason);
    const message = expect.stringMatching(/returned 404 for its model: Unknown model "policy"/);
    expect(error).toMatchObject({ status: 502, code: 'UPSTREAM_FAILED', message });
    expect((await fixture.calls(attempt))[0]?.untrainableReason).toMatch(/^\[UPSTREAM_FAILED\]/);
  });

  it('with 400 returns its own message and is not retried', async () => {
    await using fixture = await startGateway({ script: [failWith(400, { message: 'too many tokens' })] });
    const attempt = await fixture.attempt();
    const error = await failure(fixture.client(attempt).chat.completions.create(simpleRequest));
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining('too many tokens') });
    await fixture.gateway.drain();
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({ isTrainable: false, untrainableReason: expect.stringContaining('too many tokens') });
  });

  it('by rejecting the gateway’s key results in 502 without the key, which clients do not retry', async () => {
    const refusal: ScriptedFailure = failWith(401, { message: 'Incorrect API key: sk-vendor' });
    await using fixture = await startGateway({ script: [refusal] });
    const attempt = await fixture.attempt();
    const error = await failure(fixture.client(attempt, 2).chat.completions.create(simpleRequest));
    expect(error).toMatchObject({ status: 502, message: expect.stringContaining('refused the gateway') });
    expect(error.message).toContain('AGL_UPSTREAM_KEY');
    expect(fixture.model.requests).toHaveLength(1);
    const health = await fetch(`${fixture.gateway.url}/health`);
    expect(await health.json()).toMatchObject({ upstreams: [{ key_rejections: 1 }] });
    await fixture.gateway.drain();
    expect(error.message + JSON.stringify(await fixture.spans(attempt))).not.toContain('sk-vendor');
  });

  it('by returning a web page results in 502', async () => {
    await using upstream = await startUpstream((response) => void response.end('<html>'));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const error = await failure(fixture.client(await fixture.attempt()).chat.completions.create(simpleRequest));
    expect(error).toMatchObject({ status: 502, message: expect.stringContaining('not a JSON object') });
  });

  it('by staying silent results in 504', async () => {
    await using upstream = await startUpstream(() => undefined);
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl }, upstreamTimeoutMs: 50 });
    const error = await failure(fixture.client(await fixture.attempt()).chat.completions.create(simpleRequest));
    expect(error).toMatchObject({ status: 504, code: 'TIMEOUT' });
  });
});

describe('an upstream that falls silent within a stream', () => {
  it('ends it with an error that the client throws', async () => {
    const chunk = { choices: [{ index: 0, delta: { content: 'one ' } }] };
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(chunk)}\n\n`);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl }, upstreamTimeoutMs: 50 });
    const attempt = await fixture.attempt();
    const stream = await fixture.client(attempt).chat.completions.create({ ...simpleRequest, stream: true });
    const readAll = async (): Promise<void> => {
      for await (const _ of stream);
    };
    await expect(readAll()).rejects.toThrow(/broke off its response/);
    await fixture.gateway.drain();
    expect(upstream.requests).toHaveLength(1);
    expect(await fixture.calls(attempt)).toMatchObject([{ isTrainable: false }]);
  });
});

describe('several upstreams', () => {
  it('fail over to each other, and a rollout stays with one', async () => {
    await using left = await startUpstream((response) => respondJson(response, completionBody()));
    await using right = await startUpstream((response) => respondJson(response, completionBody()));
    const upstream = [left, right].map(({ baseUrl }) => ({ baseUrl, model: 'policy' }));
    await using fixture = await startGateway({ upstream });
    const attempt = await fixture.attempt();
    for (let call = 0; call < 4; call += 1) await fixture.client(attempt).chat.completions.create(simpleRequest);
    const [used, spare] = left.requests.length > 0 ? [left, right] : [right, left];
    expect([used.requests.length, spare.requests.length]).toEqual([4, 0]);
    await used[Symbol.asyncDispose]();
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(spare.requests).toHaveLength(1);
  });

  it('get the calls for their models', async () => {
    await using policy = await startUpstream((response) => respondJson(response, completionBody()));
    await using judge = await startUpstream((response) => respondJson(response, completionBody()));
    await using fixture = await startGateway({
      upstream: [
        { baseUrl: policy.baseUrl, model: 'policy' },
        { baseUrl: judge.baseUrl, model: 'judge' },
      ],
    });
    const client = fixture.client(await fixture.attempt());
    await client.chat.completions.create({ ...simpleRequest, model: 'judge' });
    await client.chat.completions.create({ ...simpleRequest, model: 'anything else' });
    expect([policy.requests.length, judge.requests.length]).toEqual([1, 1]);
  });

  it('get the calls of their agents, unless these request a model of another upstream', async () => {
    await using policy = await startUpstream((response) => respondJson(response, completionBody()));
    await using critic = await startUpstream((response) => respondJson(response, completionBody()));
    await using fixture = await startGateway({
      upstream: [
        { baseUrl: policy.baseUrl, model: 'run-1-writer', names: ['writer'] },
        { baseUrl: critic.baseUrl, model: 'run-1-critic', agents: ['critic', 'boss>expert'] },
      ],
    });
    const client = fixture.client(await fixture.attempt());
    const asked = async (model: string, headers: Record<string, string>): Promise<readonly number[]> => {
      await client.chat.completions.create({ ...simpleRequest, model }, { headers });
      return [policy.requests.length, critic.requests.length];
    };
    expect(await asked('any', { 'x-agl-agent-name': 'critic' })).toEqual([0, 1]);
    expect(await asked('any', { 'x-agl-agent-name': 'expert', 'x-agl-agent-path': 'boss>expert' })).toEqual([0, 2]);
    expect(await asked('any', { 'x-agl-agent-name': 'expert', 'x-agl-agent-path': 'expert' })).toEqual([1, 2]);
    expect(await asked('writer', { 'x-agl-agent-name': 'critic' })).toEqual([2, 2]);
    expect(await asked('run-1-critic', {})).toEqual([2, 3]);
    expect(await asked('any', {})).toEqual([3, 3]);
    expect(JSON.parse(policy.requests[1]?.body ?? '')).toMatchObject({ model: 'run-1-writer' });
  });

  it('get only the calls of their agents where agents choose the model', async () => {
    await using everybodys = await startUpstream((response) => respondJson(response, completionBody()));
    await using critics = await startUpstream((response) => respondJson(response, completionBody()));
    await using fixture = await startGateway({
      upstream: [{ baseUrl: everybodys.baseUrl }, { baseUrl: critics.baseUrl, agents: ['critic'] }],
    });
    // A rollout always prefers the same one of equals, so several are needed.
    for (let rollout = 1; rollout <= 6; rollout += 1) {
      const client = fixture.client(await fixture.attempt());
      await client.chat.completions.create(simpleRequest, { headers: { 'x-agl-agent-name': 'critic' } });
      await client.chat.completions.create(simpleRequest, { headers: { 'x-agl-agent-name': 'writer' } });
      expect([everybodys.requests.length, critics.requests.length]).toEqual([rollout, rollout]);
    }
  });

  it('can be replaced while the gateway runs', async () => {
    await using next = await startUpstream((response) => respondJson(response, completionBody()));
    await using fixture = await startGateway();
    fixture.gateway.setUpstream({ baseUrl: `${next.baseUrl}/`, model: 'policy-2' });
    await fixture.client().chat.completions.create(simpleRequest);
    expect(JSON.parse(next.requests[0]?.body ?? '')).toMatchObject({ model: 'policy-2' });
  });
});

describe('a gateway that cannot start', () => {
  it('reports that its port is taken', async () => {
    await using fixture = await startGateway();
    const { store, gateway } = fixture;
    await expect(
      serveGateway({ store, upstream: { baseUrl: 'http://x/v1' }, port: gateway.port }),
    ).rejects.toMatchObject({ code: 'PORT_IN_USE', message: expect.stringContaining(String(gateway.port)) });
  });

  it.each([
    [{ upstream: { baseUrl: 'http://x/v1' }, host: '0.0.0.0' }, /no apiKey/],
    [{ upstream: { baseUrl: 'localhost:80' } }, /localhost:80 is not an http/],
    [{ upstream: { baseUrl: 'http://me:secret@x/v1' } }, /credentials/],
    [{ upstream: { baseUrl: 'http://me:se/cret@x/v1' } }, /base URL http:\/\/…@x\/v1 is not an http/],
    [{ upstream: [] }, /no upstream/],
    [{ upstream: { baseUrl: 'http://x/v1' }, apiKey: '' }, /apiKey` is empty/],
    [{ upstream: { baseUrl: 'http://x/v1', maxConcurrent: 0 } }, /maxConcurrent of/],
    [{ upstream: { baseUrl: 'http://x/v1', apiKey: 'a\r\nb' } }, /characters that a header cannot/],
    [{ upstream: { baseUrl: 'http://x/v1', apiKey: 'sk-1' } }, /Upstream key refused for http:\/\/x\/v1/],
    [{ upstream: { baseUrl: 'http://x/v1', headers: { 'x-api-key': 'sk-1' } } }, /Upstream key refused/],
    [{ upstream: { baseUrl: 'http://x/v1?key=1' } }, /a query or a fragment/],
  ])('reports the invalid option in %j', async (options, message) => {
    await using fixture = await startGateway();
    const start = serveGateway({ store: fixture.store, ...options });
    await expect(start).rejects.toMatchObject({ code: 'CONFIG', message: expect.stringMatching(message) });
  });
});
