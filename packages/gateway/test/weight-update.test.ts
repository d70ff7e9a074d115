import { respondWith } from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import {
  completionBody,
  completionChunk,
  type GatewayFixture,
  respondJson,
  simpleRequest,
  startGateway,
  startUpstream,
} from './gateway-fixture.ts';

/** Makes calls one after another until it is stopped; the official client retries. */
async function callOnAndOn(fixture: GatewayFixture, calls: { hasEnded: boolean; made: number }): Promise<number> {
  const attempted = await fixture.attempt('train');
  // The default of two may not suffice on a busy machine.
  const client = new OpenAI({ baseURL: fixture.baseUrl(attempted), apiKey: 'unused', maxRetries: 20 });
  let made = 0;
  while (!calls.hasEnded) {
    if (made % 2 === 0) await client.chat.completions.create(simpleRequest);
    else for await (const _ of await client.chat.completions.create({ ...simpleRequest, stream: true }));
    made += 1;
    calls.made += 1;
  }
  const recorded = await fixture.calls(attempted);
  expect(recorded).toHaveLength(made);
  expect(recorded.every((call) => call.isTrainable)).toBe(true);
  return made;
}

describe('an update of the weights', () => {
  it('under the load of 64 agents loses no call, and mixes no versions within one', async () => {
    let version = 1;
    await using upstream = await startUpstream((response, index) => {
      const served = String(version);
      const headers = { 'x-agl-policy-version': served };
      const isStreamed = upstream.requests[index]?.body.includes('"stream":true') === true;
      setTimeout(() => {
        if (!isStreamed) return respondJson(response, completionBody(), headers);
        response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
        response.end(`data: ${JSON.stringify(completionChunk())}\n\ndata: [DONE]\n\n`);
      }, 5);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const calls = { hasEnded: false, made: 0 };
    const agents = Array.from({ length: 64 }, () => callOnAndOn(fixture, calls));
    for (let update = 0; update < 3; update += 1) {
      const before = calls.made;
      while (calls.made < before + 64) await new Promise((resolve) => setTimeout(resolve, 5));
      fixture.gateway.pause({ retryAfterSeconds: 1, holdMs: update === 2 ? 60_000 : 0 });
      await fixture.gateway.drain(30_000);
      const asked = upstream.requests.length;
      version += 1;
      expect(fixture.gateway.state()).toMatchObject({ isPaused: true, inFlight: 0 });
      // Nothing reaches the engine during the update.
      expect(upstream.requests).toHaveLength(asked);
      fixture.gateway.resume();
    }
    calls.hasEnded = true;
    const made = await Promise.all(agents);
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(calls.made);
    expect(upstream.requests).toHaveLength(calls.made);
  });

  it('with rejected calls sends Retry-After, and the client retries', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const client = new OpenAI({ baseURL: fixture.baseUrl(await fixture.attempt()), apiKey: 'unused' });
    fixture.gateway.pause({ retryAfterSeconds: 1 });
    const statuses: number[] = [];
    const watched = client.withOptions({
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        statuses.push(response.status);
        if (response.status === 429) fixture.gateway.resume();
        return response;
      },
    });
    expect((await watched.chat.completions.create(simpleRequest)).choices).toHaveLength(1);
    expect(statuses).toEqual([429, 200]);
  });
});
