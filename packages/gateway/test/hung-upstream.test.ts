import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../src/index.ts';
import {
  type BareUpstream,
  completionBody,
  completionChunk,
  type GatewayFixture,
  respondJson,
  simpleRequest,
  startGateway,
  startUpstream,
  until,
} from './gateway-fixture.ts';

const silent = (): void => undefined;

function healthy(response: ServerResponse): void {
  respondJson(response, completionBody());
}

function streaming(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`data: ${JSON.stringify(completionChunk())}\n\ndata: [DONE]\n\n`);
}

/** A gateway in front of replicas `a`, `b`, … of one model. */
function gatewayOf(replicas: readonly BareUpstream[], options: Partial<GatewayOptions>): Promise<GatewayFixture> {
  const upstream = replicas.map(({ baseUrl }, index) => ({ id: 'abc'.charAt(index), baseUrl, model: 'policy' }));
  return startGateway({ upstream, healthChecks: { intervalMs: 600_000 }, ...options });
}

/** Makes one call for each of enough rollouts that some prefer each replica. @returns the number of failed calls */
async function lostCalls(fixture: GatewayFixture, stream: boolean): Promise<number> {
  let lost = 0;
  for (let rollout = 0; rollout < 24; rollout += 1) {
    const client = fixture.client(await fixture.attempt());
    const call = stream
      ? client.chat.completions.stream({ ...simpleRequest, stream: true }).finalChatCompletion()
      : client.chat.completions.create(simpleRequest);
    await call.catch(() => {
      lost += 1;
    });
  }
  return lost;
}

const isUp = (fixture: GatewayFixture, id: string): boolean | undefined =>
  fixture.gateway.upstreams().find((upstream) => upstream.id === id)?.isUp;

const calls = (upstream: BareUpstream): number => upstream.requests.filter(({ body }) => body !== '').length;

describe('a replica that hangs', () => {
  it('loses no call: those without a first byte in time go to another, and later ones avoid it', async () => {
    await using hung = await startUpstream(silent);
    await using other = await startUpstream(healthy);
    await using fixture = await gatewayOf([hung, other], { firstByteTimeoutMs: 1000 });
    expect(await lostCalls(fixture, false)).toBe(0);
    expect(isUp(fixture, 'a')).toBe(false);
    const before = calls(hung);
    expect(before).toBeGreaterThan(0);
    expect(await lostCalls(fixture, false)).toBe(0);
    expect(calls(hung)).toBe(before);
  });

  it('after the head of a stream and before its first chunk loses no call', async () => {
    await using hung = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    });
    await using other = await startUpstream(streaming);
    await using third = await startUpstream(streaming);
    await using fixture = await gatewayOf([hung, other, third], { firstByteTimeoutMs: 1000 });
    expect(await lostCalls(fixture, true)).toBe(0);
    expect(isUp(fixture, 'a')).toBe(false);
  });

  it('is found by health checks while its calls wait, without a short first-byte timeout', async () => {
    await using hung = await startUpstream(silent);
    await using other = await startUpstream(healthy);
    await using fixture = await gatewayOf([hung, other], { healthChecks: { intervalMs: 50, timeoutMs: 200 } });
    expect(await lostCalls(fixture, false)).toBe(0);
    expect(isUp(fixture, 'a')).toBe(false);
  });

  it('is used again once a health check succeeds, and is taken out by its next failure', async () => {
    let isHung = true;
    await using sometimes = await startUpstream((response) => {
      // Health checks have no body.
      if (!isHung || sometimes.requests.at(-1)?.body === '') healthy(response);
    });
    await using other = await startUpstream(healthy);
    const healthChecks = { intervalMs: 400, maxIntervalMs: 800 };
    await using fixture = await gatewayOf([sometimes, other], { firstByteTimeoutMs: 1000, healthChecks });
    for (let round = 0; round < 2; round += 1) {
      expect(await lostCalls(fixture, false)).toBe(0);
      await until(() => isUp(fixture, 'a') === true);
    }
    isHung = false;
    const before = calls(sometimes);
    expect(await lostCalls(fixture, false)).toBe(0);
    expect(calls(sometimes)).toBeGreaterThan(before);
    expect(isUp(fixture, 'a')).toBe(true);
  });

  it('in the middle of a stream is not replaced: the client has bytes of it', async () => {
    const half = (response: ServerResponse): void => {
      const chunk = { choices: [{ index: 0, delta: { content: 'one ' } }] };
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    await using left = await startUpstream(half);
    await using right = await startUpstream(half);
    await using fixture = await gatewayOf([left, right], { firstByteTimeoutMs: 1000, upstreamTimeoutMs: 1000 });
    const stream = fixture.client(await fixture.attempt()).chat.completions.stream({ ...simpleRequest, stream: true });
    await expect(stream.finalChatCompletion()).rejects.toThrow(/broke off/);
    expect(calls(left) + calls(right)).toBe(1);
  });

  it('together with all others results in 504 with a code, after each was tried once', async () => {
    await using left = await startUpstream(silent);
    await using right = await startUpstream(silent);
    await using fixture = await gatewayOf([left, right], { firstByteTimeoutMs: 500 });
    const call = fixture.client(await fixture.attempt()).chat.completions.create(simpleRequest);
    await expect(call).rejects.toMatchObject({ status: 504, code: 'TIMEOUT', type: 'upstream_error' });
    expect([calls(left), calls(right)]).toEqual([1, 1]);
  });
});

it('an empty stream is a call that broke off, and not one that hangs', async () => {
  await using upstream = await startUpstream((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
  });
  await using fixture = await gatewayOf([upstream], {});
  const stream = fixture.client(await fixture.attempt()).chat.completions.stream({ ...simpleRequest, stream: true });
  await expect(stream.finalChatCompletion()).rejects.toThrow(/broke off/);
  expect(fixture.gateway.state().inFlight).toBe(0);
});
