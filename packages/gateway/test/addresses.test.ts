import { get } from 'node:http';
import { AttemptTokens } from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { ManualClock, respondWith } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { type GatewayFixture, simpleRequest, startGateway } from './gateway-fixture.ts';

const tokens = new AttemptTokens({ secrets: ['a secret of thirty-two bytes, or more'] });

/** Makes a call to a path of the gateway, and returns its status. */
async function statusOf(call: {
  readonly fixture: GatewayFixture;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly apiKey?: string;
}): Promise<number> {
  const { fixture, path, headers = {}, apiKey = 'unused' } = call;
  const client = new OpenAI({ baseURL: fixture.gateway.url + path, apiKey, maxRetries: 0, defaultHeaders: headers });
  try {
    const { response } = await client.chat.completions.create(simpleRequest).withResponse();
    return response.status;
  } catch (error) {
    if (error instanceof OpenAI.APIError && typeof error.status === 'number') return error.status;
    throw error;
  }
}

function tokenOf({ rolloutId, attempt }: AttemptedRollout): Promise<string> {
  return tokens.create({ rolloutId, attemptId: attempt.attemptId });
}

const script = (): ReturnType<typeof respondWith> => respondWith('5');

/** The same id with its first character percent-encoded. */
function escaped(id: string): string {
  return `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`;
}

describe('an attempt', () => {
  const places: readonly (readonly [string, (r: string, a: string) => string, boolean])[] = [
    ['the address of Agent Lightning 0.3', (r, a) => `/rollout/${r}/attempt/${a}/v1`, false],
    ['that address without /v1', (r, a) => `/rollout/${r}/attempt/${a}`, false],
    ['the address of 1.0', (r, a) => `/proxy/rollout/${r}/attempt/${a}/mode/val/openai/v1`, false],
    ['an address with escapes', (r, a) => `/rollout/${escaped(r)}/attempt/${escaped(a)}/v1`, false],
    ['headers', () => '/v1', true],
  ];

  it.each(places)('is identified by %s', async (_, pathOf, byHeaders) => {
    await using fixture = await startGateway({ script });
    const attempt = await fixture.attempt();
    const {
      rolloutId,
      attempt: { attemptId },
    } = attempt;
    const headers: Record<string, string> = byHeaders ? { 'x-rollout-id': rolloutId, 'x-attempt-id': attemptId } : {};
    expect(await statusOf({ fixture, path: pathOf(rolloutId, attemptId), headers })).toBe(200);
    expect(await fixture.calls(attempt)).toHaveLength(1);
  });

  it('is identified by its token alone', async () => {
    await using fixture = await startGateway({ script, attemptTokens: tokens });
    const attempt = await fixture.attempt();
    expect(await statusOf({ fixture, path: '/v1', apiKey: await tokenOf(attempt) })).toBe(200);
    expect(await fixture.calls(attempt)).toHaveLength(1);
  });

  it('with only one of its headers is rejected with 400', async () => {
    await using fixture = await startGateway({ script });
    const { rolloutId } = await fixture.attempt();
    expect(await statusOf({ fixture, path: '/v1', headers: { 'x-rollout-id': rolloutId } })).toBe(400);
  });

  it('takes the mode of its address only if the rollout has none', async () => {
    const sampling = { train: { temperature: 1 }, val: { temperature: 0 } };
    await using fixture = await startGateway({ script, sampling });
    for (const [own, temperature] of [
      [undefined, 0],
      ['train', 1],
    ] as const) {
      const { rolloutId, attempt } = await fixture.attempt(own);
      await statusOf({ fixture, path: `/proxy/rollout/${rolloutId}/attempt/${attempt.attemptId}/mode/val/openai/v1` });
      expect(fixture.model.requests.at(-1)?.body).toMatchObject({ temperature });
    }
  });
});

describe('an attempt token', () => {
  it('admits to its own attempt only', async () => {
    await using fixture = await startGateway({ script, attemptTokens: tokens });
    const [own, other] = [await fixture.attempt(), await fixture.attempt()];
    const apiKey = await tokenOf(own);
    const pathOf = ({ rolloutId, attempt }: AttemptedRollout): string =>
      `/rollout/${rolloutId}/attempt/${attempt.attemptId}/v1`;
    expect(await statusOf({ fixture, path: pathOf(own), apiKey })).toBe(200);
    expect(await statusOf({ fixture, path: pathOf(other), apiKey })).toBe(403);
    const headers = { 'x-rollout-id': other.rolloutId, 'x-attempt-id': other.attempt.attemptId };
    expect(await statusOf({ fixture, path: '/v1', apiKey, headers })).toBe(403);
    expect(await fixture.calls(other)).toEqual([]);
  });

  it('that was revoked is refused within five seconds, and other tokens of the attempt are not', async () => {
    const clock = new ManualClock();
    const own = new AttemptTokens({ secrets: ['a secret of thirty-two bytes, or more'], clock });
    await using fixture = await startGateway({
      script,
      attemptTokens: own,
      clock,
      store: await openStore(':memory:', { clock }),
    });
    const { rolloutId, attempt } = await fixture.attempt();
    const create = (lifetimeMs: number): Promise<string> =>
      own.create({ rolloutId, attemptId: attempt.attemptId, lifetimeMs });
    const [revoked, other] = [await create(60_000), await create(120_000)];
    expect(await statusOf({ fixture, path: '/v1', apiKey: revoked })).toBe(200);
    await fixture.store.revokeAttemptToken(revoked);
    await clock.advance(5000);
    expect(await statusOf({ fixture, path: '/v1', apiKey: revoked })).toBe(401);
    expect(await statusOf({ fixture, path: '/v1', apiKey: other })).toBe(200);
  });

  it('is accepted in the key headers of other APIs', async () => {
    await using fixture = await startGateway({ script, attemptTokens: tokens });
    const token = await tokenOf(await fixture.attempt());
    for (const name of ['x-api-key', 'api-key']) {
      expect(await statusOf({ fixture, path: '/v1', headers: { [name]: token } })).toBe(200);
    }
  });

  it('that is malformed, forged or expired is rejected with 401', async () => {
    await using fixture = await startGateway({ script, attemptTokens: tokens });
    const attempt = await fixture.attempt();
    const {
      rolloutId,
      attempt: { attemptId },
    } = attempt;
    const expired = await tokens.create({ rolloutId, attemptId, lifetimeMs: -2000 });
    const forged = await new AttemptTokens({ secrets: ['another secret of thirty-two bytes, too'] }).create({
      rolloutId,
      attemptId,
    });
    for (const apiKey of ['none', 'aglat.', expired, forged, `${await tokenOf(attempt)}x`]) {
      expect(await statusOf({ fixture, path: '/v1', apiKey })).toBe(401);
    }
  });

  it('is required at the address of an attempt, which the gateway key does not open', async () => {
    await using fixture = await startGateway({ script, attemptTokens: tokens, apiKey: 'right', adminKey: 'admin' });
    const attempted = await fixture.attempt();
    const { rolloutId, attempt } = attempted;
    const path = `/rollout/${rolloutId}/attempt/${attempt.attemptId}/v1`;
    const headers = { 'x-rollout-id': rolloutId, 'x-attempt-id': attempt.attemptId };
    expect(await statusOf({ fixture, path, apiKey: 'right' })).toBe(403);
    expect(await statusOf({ fixture, path: '/v1', headers, apiKey: 'right' })).toBe(403);
    expect(await statusOf({ fixture, path: '/v1', apiKey: 'right' })).toBe(200);
    expect(await statusOf({ fixture, path, apiKey: 'admin' })).toBe(200);
    expect(await statusOf({ fixture, path, apiKey: await tokenOf(attempted) })).toBe(200);
    expect(await statusOf({ fixture, path, apiKey: 'wrong' })).toBe(401);
  });
});

describe('a gateway without a key', () => {
  it.each([
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost:5173' }, 200],
    [{ host: 'rebound.example' }, 403],
    [{ host: 'localhost' }, 200],
    [{ host: '[::1]:4750' }, 200],
    [{}, 200],
  ])('admits this machine only: %j gets %i', async (headers, status) => {
    await using fixture = await startGateway();
    const response = await new Promise<number | undefined>((resolve, reject) => {
      get(`${fixture.gateway.url}/health`, { headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      }).on('error', reject);
    });
    expect(response).toBe(status);
  });
});

describe('a request id', () => {
  it('is forwarded to the upstream', async () => {
    await using fixture = await startGateway({ script });
    const { _request_id: requestId } = await fixture
      .client()
      .chat.completions.create(simpleRequest, { headers: { 'x-request-id': 'mine-1' } });
    expect(requestId).toBe('mine-1');
    expect(fixture.model.requests[0]?.headers['x-request-id']).toBe('mine-1');
  });

  it.each([undefined, 'with spaces', 'x'.repeat(200)])('is generated for a client that sends %j', async (given) => {
    await using fixture = await startGateway();
    const headers = given === undefined ? {} : { 'x-request-id': given };
    const response = await fetch(`${fixture.gateway.url}/v1/nothing`, { headers });
    expect(response.headers.get('x-request-id')).toMatch(/^req-[0-9a-f-]{36}$/);
  });
});
