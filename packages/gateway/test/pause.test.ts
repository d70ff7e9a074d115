import type { Span } from '@agentlightning/core';
import { respondWith } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { describe, expect, it } from 'vitest';
import { signalled, simpleRequest, startGateway, startUpstream, storeWith } from './gateway-fixture.ts';

describe('a paused gateway', () => {
  it('rejects calls with Retry-After, and admits them after resume', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const client = fixture.client(await fixture.attempt());
    fixture.gateway.pause({ retryAfterSeconds: 3, reason: 'new weights' });
    const call = client.chat.completions.create(simpleRequest);
    const error = await call.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 429, message: expect.stringContaining('new weights') });
    const { headers } = error as { headers: Headers };
    expect([headers.get('retry-after'), headers.get('x-agl-paused')]).toEqual(['3', 'true']);
    expect(fixture.gateway.state()).toEqual({ isPaused: true, reason: 'new weights', inFlight: 0 });
    fixture.gateway.resume();
    expect((await client.chat.completions.create(simpleRequest)).choices).toHaveLength(1);
  });

  it('holds calls with `holdMs`, until it resumes', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const client = fixture.client(await fixture.attempt());
    fixture.gateway.pause({ holdMs: 60_000 });
    const call = client.chat.completions.create(simpleRequest);
    const isEarly = await Promise.race([
      call.then(() => true),
      fetch(`${fixture.gateway.url}/health`).then(() => false),
    ]);
    expect(isEarly).toBe(false);
    fixture.gateway.resume();
    expect((await call).choices).toHaveLength(1);
  });

  it('is drained when calls in flight are complete and recorded', async () => {
    const finish = signalled();
    await using fixture = await startGateway({ script: [respondWith('5', { until: finish.promise })] });
    const attempt = await fixture.attempt();
    const call = fixture.client(attempt).chat.completions.create(simpleRequest);
    while (fixture.model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    fixture.gateway.pause();
    expect(fixture.gateway.state().inFlight).toBe(1);
    await expect(fixture.gateway.drain(5)).rejects.toMatchObject({ code: 'TIMEOUT', details: { inFlight: 1 } });
    finish.send();
    await fixture.gateway.drain();
    expect(fixture.gateway.state().inFlight).toBe(0);
    expect(await fixture.spans(attempt)).toHaveLength(1);
    await call;
  });
});

describe('a gateway that is drained', () => {
  it('does not exceed the timeout when the store hangs', async () => {
    const written = signalled();
    const store = storeWith(await openStore(':memory:'), {
      appendSpans: async (spans): Promise<readonly (Span | null)[]> => {
        await written.promise;
        return spans.map(() => null);
      },
    });
    await using fixture = await startGateway({ store, durability: 'background', script: [respondWith('5')] });
    await fixture.client(await fixture.attempt()).chat.completions.create(simpleRequest);
    await expect(fixture.gateway.drain(5)).rejects.toMatchObject({ code: 'TIMEOUT', details: { inFlight: 0 } });
    written.send();
    await fixture.gateway.drain(60_000);
  });
});

describe('a gateway that closes', () => {
  it('is not reopened by resume', async () => {
    const finish = signalled();
    await using fixture = await startGateway({ script: [respondWith('5', { until: finish.promise })] });
    const client = fixture.client(await fixture.attempt());
    const call = client.chat.completions.create(simpleRequest);
    while (fixture.model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    fixture.gateway.pause();
    const closed = fixture.gateway.close({ drainMs: 60_000 });
    fixture.gateway.resume();
    await expect(client.chat.completions.create(simpleRequest)).rejects.toMatchObject({ status: 429 });
    finish.send();
    expect((await call).choices).toHaveLength(1);
    await closed;
  });

  it('does not wait for retries, held calls, or stalled readers', async () => {
    const big = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(100_000) } }] })}\n\n`;
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const fill = (): void => {
        while (!response.destroyed && response.write(big));
        if (!response.destroyed) response.once('drain', fill);
      };
      fill();
    });
    await using fixture = await startGateway({
      upstream: [
        { baseUrl: upstream.baseUrl, model: 'stream' },
        { baseUrl: 'http://127.0.0.1:9/v1', model: 'gone' },
      ],
      retry: { maxRetries: 5, baseDelayMs: 600_000, maxDelayMs: 600_000 },
    });
    const client = fixture.client(await fixture.attempt());
    const stalled = await client.chat.completions.create({ ...simpleRequest, model: 'stream', stream: true });
    const retried = client.chat.completions.create({ ...simpleRequest, model: 'gone' }).catch(String);
    while (fixture.gateway.state().inFlight < 2) await new Promise((resolve) => setImmediate(resolve));
    fixture.gateway.pause({ holdMs: 600_000 });
    const held = client.chat.completions.create(simpleRequest).catch(String);
    await fetch(`${fixture.gateway.url}/health`);
    await fixture.gateway.close();
    expect(await retried).toContain('closing');
    expect(await held).toContain('closing');
    expect(fixture.gateway.state().inFlight).toBe(0);
    stalled.controller.abort();
  });
});
