import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { respondWith } from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { GatewayOptions, UpstreamState } from '../src/index.ts';
import {
  type BareUpstream,
  completionBody,
  type GatewayFixture,
  quickRetry,
  respondJson,
  signalled,
  simpleRequest,
  startGateway,
  startUpstream,
  until,
} from './gateway-fixture.ts';

const respond = (response: ServerResponse): void => respondJson(response, completionBody());

function stateOf(fixture: GatewayFixture, id: string): UpstreamState | undefined {
  return fixture.gateway.upstreams().find((upstream) => upstream.id === id);
}

/** A gateway in front of upstreams `a`, `b`, … of the same model. */
function gatewayOf(upstreams: readonly BareUpstream[], options: Partial<GatewayOptions> = {}): Promise<GatewayFixture> {
  const upstream = upstreams.map(({ baseUrl }, index) => ({ id: 'abcd'.charAt(index), baseUrl, model: 'policy' }));
  return startGateway({ upstream, ...options });
}

describe('the upstreams of a gateway', () => {
  it('get calls from the moment they are added until they are removed', async () => {
    await using first = await startUpstream(respond);
    await using second = await startUpstream(respond);
    await using fixture = await gatewayOf([first]);
    const id = fixture.gateway.addUpstream({ baseUrl: second.baseUrl, model: 'judge' });
    expect(id).toBe(`judge@${second.baseUrl}`);
    const client = fixture.client(await fixture.attempt());
    await client.chat.completions.create({ ...simpleRequest, model: 'judge' });
    expect(fixture.gateway.removeUpstream(id)).toBe(true);
    await client.chat.completions.create({ ...simpleRequest, model: 'judge' });
    expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
  });

  it('keep a call in flight after they are removed', async () => {
    const finish = signalled();
    await using first = await startUpstream(async (response) => {
      await finish.promise;
      respond(response);
    });
    await using second = await startUpstream(respond);
    await using fixture = await gatewayOf([first]);
    const client = fixture.client(await fixture.attempt());
    const call = client.chat.completions.create(simpleRequest);
    await until(() => first.requests.length === 1);
    fixture.gateway.setUpstream({ baseUrl: second.baseUrl });
    await client.chat.completions.create(simpleRequest);
    finish.send();
    expect((await call).id).toBe('chatcmpl-7');
    expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
  });

  it('are changed over HTTP with the admin key only', async () => {
    await using first = await startUpstream(respond);
    await using fixture = await gatewayOf([first], { apiKey: 'agents', adminKey: 'admins' });
    const admin = (key: string, request: string, body?: object): Promise<Response> => {
      const [method = '', path = ''] = request.split(' ');
      return fetch(`${fixture.gateway.url}/admin${path}`, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    };
    const other = { id: 'b', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-secret', max_concurrent: 4 };
    expect((await admin('agents', 'POST /upstreams', other)).status).toBe(403);
    expect((await admin('admins', 'POST /upstreams', other)).status).toBe(201);
    const listed = await (await admin('admins', 'GET /upstreams')).text();
    expect(JSON.parse(listed).upstreams).toMatchObject([{ id: 'a' }, { id: 'b' }]);
    expect(listed).not.toContain('sk-secret');
    expect((await admin('admins', 'DELETE /upstreams?id=b')).status).toBe(204);
    expect((await admin('admins', 'DELETE /upstreams?id=b')).status).toBe(404);
    const wrong = [{}, { base_url: 'file:///etc/passwd' }, { base_url: 'http://x/v1', port: 1 }, []];
    for (const body of wrong) expect((await admin('admins', 'POST /upstreams', body)).status).toBe(400);
    expect(fixture.gateway.upstreams()).toHaveLength(1);
  });

  it('are paused and resumed over HTTP', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')], adminKey: 'admins' });
    const admin = async (method: string, path: string, body = ''): Promise<unknown> => {
      const headers = { authorization: 'Bearer admins' };
      const init = { method, headers, ...(body === '' ? {} : { body }) };
      return (await fetch(`${fixture.gateway.url}/admin/${path}`, init)).json();
    };
    const paused = { paused: true, reason: 'new weights', in_flight: 0 };
    expect(await admin('POST', 'pause', '{"reason":"new weights","retry_after_seconds":7}')).toEqual(paused);
    expect(await admin('GET', 'state')).toMatchObject({ ...paused, upstreams: [{ model: 'policy', up: true }] });
    const client = fixture.client().withOptions({ apiKey: 'admins' });
    await expect(client.chat.completions.create(simpleRequest)).rejects.toMatchObject({ status: 429 });
    expect(await admin('POST', 'resume')).toEqual({ paused: false, reason: null, in_flight: 0 });
    expect((await client.chat.completions.create(simpleRequest)).choices).toHaveLength(1);
  });

  it('cannot be changed over HTTP without an admin key', async () => {
    await using fixture = await startGateway();
    const body = JSON.stringify({ base_url: 'http://127.0.0.1:9/v1' });
    const response = await fetch(`${fixture.gateway.url}/admin/upstreams`, { method: 'POST', body });
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('adminKey');
  });

  it('are the only servers that a call can reach, whatever it names', async () => {
    await using elsewhere = await startUpstream(respond);
    await using fixture = await startGateway({ script: () => respondWith('5'), apiKey: 'unused' });
    const { host } = new URL(elsewhere.baseUrl);
    const headers = { host, 'x-forwarded-host': host, forwarded: `host=${host}`, 'x-upstream': elsewhere.baseUrl };
    const client = fixture.client();
    for (const model of [elsewhere.baseUrl, `${elsewhere.baseUrl}/chat/completions`, `../../${host}`, '@']) {
      await client.chat.completions.create({ ...simpleRequest, model }, { headers });
    }
    expect(elsewhere.requests).toEqual([]);
    expect(fixture.model.requests).toHaveLength(4);
  });
});

describe('upstream URLs', () => {
  it('stay within its API, whatever the name of a model is', async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await using fixture = await startGateway({ upstream: { baseUrl: `http://127.0.0.1:${port}/api/v1` } });
    for (const name of ['tiny', '..', '%2e%2e', '%2e', '..%2f..%2fadmin', '%3Fkey=1', '%00']) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect(fixture.gateway.port, '127.0.0.1', () =>
          socket.end(`GET /v1/models/${name} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`),
        );
        socket.resume().on('error', reject).on('close', resolve);
      });
    }
    expect(asked).toEqual([
      '/api/v1/models/tiny',
      '/api/v1/models/..%2F..%2Fadmin',
      '/api/v1/models/%3Fkey%3D1',
      '/api/v1/models/%00',
    ]);
    await fixture.gateway.close();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('an upstream that is down', () => {
  it('is tried last until a health check succeeds', async () => {
    let isBroken = true;
    const sometimes = (response: ServerResponse): void => {
      if (isBroken) response.writeHead(500).end('{}');
      else respond(response);
    };
    await using left = await startUpstream(sometimes);
    await using right = await startUpstream(respond);
    await using fixture = await gatewayOf([left, right], { healthChecks: { intervalMs: 10, maxIntervalMs: 20 } });
    // Enough rollouts with random ids that some prefer each.
    const attempts = await Promise.all(Array.from({ length: 40 }, () => fixture.attempt()));
    for (const attempt of attempts) await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(stateOf(fixture, 'a')).toMatchObject({ isUp: false, lastFailure: expect.stringContaining('500') });
    const { length: before } = left.requests.filter(({ body }) => body !== '');
    for (const attempt of attempts) await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(left.requests.filter(({ body }) => body !== '')).toHaveLength(before);
    isBroken = false;
    await until(() => stateOf(fixture, 'a')?.isUp === true);
    for (const attempt of attempts) await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(left.requests.filter(({ body }) => body !== '').length).toBeGreaterThan(before);
  });

  it('is called when there is no other', async () => {
    let failures = 5;
    await using only = await startUpstream((response) => {
      failures -= 1;
      if (failures >= 0) response.destroy();
      else respond(response);
    });
    const retry = { ...quickRetry, maxRetries: 9 };
    await using fixture = await gatewayOf([only], { retry, healthChecks: { intervalMs: 600_000 } });
    expect((await fixture.client().chat.completions.create(simpleRequest)).id).toBe('chatcmpl-7');
    expect(stateOf(fixture, 'a')).toMatchObject({ isUp: true, lastFailure: null });
  });

  it('is detected by health checks before any call with `of: all`', async () => {
    await using healthy = await startUpstream(respond);
    const gone = await startUpstream(respond);
    await gone[Symbol.asyncDispose]();
    await using fixture = await gatewayOf([healthy, gone], { healthChecks: { of: 'all', intervalMs: 5 } });
    await until(() => stateOf(fixture, 'b')?.isUp === false);
    expect(stateOf(fixture, 'a')?.isUp).toBe(true);
  });
});

describe('an upstream with a concurrency limit', () => {
  it('queues excess calls, fairly between rollouts', async () => {
    const finish = signalled();
    let inside = 0;
    let most = 0;
    await using upstream = await startUpstream(async (response) => {
      inside += 1;
      most = Math.max(most, inside);
      await finish.promise;
      inside -= 1;
      respond(response);
    });
    await using fixture = await startGateway({ upstream: { id: 'a', baseUrl: upstream.baseUrl, maxConcurrent: 2 } });
    const [greedy, modest] = [await fixture.attempt(), await fixture.attempt()];
    const call = async (attempt: typeof greedy, user: string): Promise<void> => {
      await fixture.client(attempt).chat.completions.create({ ...simpleRequest, user });
    };
    const calls = Array.from({ length: 8 }, () => call(greedy, 'greedy'));
    await until(() => stateOf(fixture, 'a')?.queued === 6);
    calls.push(call(modest, 'modest'));
    await until(() => stateOf(fixture, 'a')?.queued === 7);
    finish.send();
    await Promise.all(calls);
    expect(most).toBe(2);
    const order = upstream.requests.map(({ body }) => JSON.parse(body).user);
    // Two were admitted at once; the queue then alternates between the rollouts.
    expect(order.slice(0, 4)).toContain('modest');
  });

  it('rejects calls beyond the queue limit with 429 and Retry-After, and the client retries', async () => {
    const finish = signalled();
    await using upstream = await startUpstream(async (response) => {
      await finish.promise;
      respond(response);
    });
    await using fixture = await startGateway({
      upstream: { id: 'a', baseUrl: upstream.baseUrl, maxConcurrent: 1, maxQueued: 0 },
    });
    const first = fixture.client().chat.completions.create(simpleRequest);
    await until(() => upstream.requests.length === 1);
    const refused = await fixture
      .client()
      .chat.completions.create(simpleRequest)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 429, code: 'RESOURCE_EXHAUSTED' });
    expect(refused instanceof OpenAI.APIError && refused.headers?.get('retry-after')).toBe('1');
    const patient = fixture.client(undefined, 5).chat.completions.create(simpleRequest);
    finish.send();
    expect((await first).id).toBe('chatcmpl-7');
    expect((await patient).id).toBe('chatcmpl-7');
  });

  it('rejects a call after the queue timeout', async () => {
    await using upstream = await startUpstream(() => undefined);
    await using fixture = await startGateway({
      upstream: { id: 'a', baseUrl: upstream.baseUrl, maxConcurrent: 1 },
      queueTimeoutMs: 20,
    });
    void fixture
      .client()
      .chat.completions.create(simpleRequest)
      .catch(() => undefined);
    await until(() => upstream.requests.length === 1);
    const second = fixture.client().chat.completions.create(simpleRequest);
    await expect(second).rejects.toMatchObject({
      status: 429,
      message: expect.stringContaining('timed out after 20 ms'),
    });
    expect(stateOf(fixture, 'a')).toMatchObject({ inFlight: 1, queued: 0 });
  });
});

describe('an upstream without token ids', () => {
  it('that rejects requests for them gets none from then on, with one warning', async () => {
    const warnings: string[] = [];
    await using upstream = await startUpstream((response) => {
      const body = upstream.requests.at(-1)?.body ?? '';
      if (!body.includes('return_token_ids'))
        return respondJson(response, completionBody({ prompt_token_ids: null }, { token_ids: null }));
      const error = { message: 'Unrecognized request argument supplied: return_token_ids' };
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    });
    const log = { warn: (_: object, message: string) => void warnings.push(message), error: () => undefined };
    await using fixture = await startGateway({ upstream: { id: 'a', baseUrl: upstream.baseUrl }, log });
    const attempt = await fixture.attempt();
    for (let call = 0; call < 3; call += 1) await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(upstream.requests).toHaveLength(4);
    expect(await fixture.calls(attempt)).toMatchObject(Array(3).fill({ isTrainable: false }));
    expect(stateOf(fixture, 'a')?.tokenIds).toBe('refused');
    expect(warnings).toEqual([expect.stringContaining('rejects requests for token ids')]);
  });

  it('that omits them from its responses causes one warning', async () => {
    const warnings: string[] = [];
    const log = { warn: (_: object, message: string) => void warnings.push(message), error: () => undefined };
    await using upstream = await startUpstream((response) =>
      respondJson(response, completionBody({ prompt_token_ids: null }, { token_ids: null })),
    );
    await using fixture = await startGateway({ upstream: { id: 'a', baseUrl: upstream.baseUrl }, log });
    const attempt = await fixture.attempt();
    for (let call = 0; call < 3; call += 1) await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(stateOf(fixture, 'a')?.tokenIds).toBe('missing');
    expect(warnings).toEqual([expect.stringContaining('no token ids')]);
    expect(await fixture.gateway.metrics()).toContain('agl_gateway_upstream_token_ids{upstream="a"} 0');
  });
});

describe('the credentials of an upstream', () => {
  it('reach no agent, span or log, even if the upstream repeats them', async () => {
    const secrets = ['sk-vendor-key', 'org-secret-id'];
    const message = `Bad key sk-vendor-key of org-secret-id`;
    let status = 400;
    await using upstream = await startUpstream((response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'set-cookie': 'key=sk-vendor-key' });
      response.end(JSON.stringify({ error: { message } }));
    });
    const entries: unknown[] = [];
    const add = (details: object, message: string): void => void entries.push(details, message);
    await using fixture = await startGateway({
      upstream: {
        baseUrl: upstream.baseUrl,
        apiKey: 'sk-vendor-key',
        headers: { 'openai-organization': 'org-secret-id' },
      },
      log: { debug: add, warn: add, error: add },
      retry: { ...quickRetry, maxRetries: 1 },
    });
    const attempt = await fixture.attempt();
    let seen = '';
    for (status of [400, 401, 403, 404, 422, 429, 500]) {
      const body = JSON.stringify(simpleRequest);
      const {
        rolloutId,
        attempt: { attemptId },
      } = attempt;
      const url = `${fixture.gateway.url}/rollout/${rolloutId}/attempt/${attemptId}/v1/chat/completions`;
      const response = await fetch(url, { method: 'POST', body });
      seen += JSON.stringify([...response.headers]) + (await response.text());
    }
    await fixture.gateway.drain();
    const logged = entries.map((item) =>
      item instanceof Object ? JSON.stringify(item) + String(Object.values(item)) : item,
    );
    const everything =
      seen +
      JSON.stringify(await fixture.spans(attempt)) +
      logged.join() +
      JSON.stringify(fixture.gateway.upstreams()) +
      (await fixture.gateway.metrics());
    for (const secret of secrets) expect(everything).not.toContain(secret);
    expect(upstream.requests[0]?.headers.authorization).toBe('Bearer sk-vendor-key');
  });
});
