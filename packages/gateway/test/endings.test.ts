import { connect } from 'node:net';
import { respondWith } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { createGateway } from '../src/index.ts';
import {
  completionBody,
  completionChunk,
  type GatewayFixture,
  respondJson,
  signalled,
  simpleRequest,
  startGateway,
  startUpstream,
  until,
} from './gateway-fixture.ts';

const never = new Promise<void>(() => undefined);

/** The outcome of a call. */
async function endOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => 'a response',
    (error: unknown) => error,
  );
}

async function readAll(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

/** A gateway whose model sends a word or two, and then stalls. */
function startSilent(options: Parameters<typeof startGateway>[0] = {}): Promise<GatewayFixture> {
  return startGateway({
    script: () => respondWith('one two three', { until: never, pauseAfterChunks: 4 }),
    ...options,
  });
}

describe('a call whose attempt ends', () => {
  it('is aborted, at the client and at the model, and untrainable', async () => {
    await using fixture = await startSilent();
    const attempted = await fixture.attempt();
    const { rolloutId, attempt } = attempted;
    const call = fixture.client(attempted, 2).chat.completions.create(simpleRequest);
    await until(() => fixture.model.requests.length === 1);
    await fixture.store.updateAttempt(rolloutId, attempt.attemptId, { status: 'failed' });
    expect(await endOf(call)).toMatchObject({ status: 409, message: expect.stringContaining('is failed') });
    await fixture.model.waitForDisconnects(1);
    await fixture.gateway.drain();
    expect(fixture.model.requests).toHaveLength(1);
    expect(await fixture.calls(attempted)).toMatchObject([
      { isTrainable: false, untrainableReason: expect.stringContaining('is failed') },
    ]);
  });

  it('ends its stream with an error that the client throws', async () => {
    await using fixture = await startSilent();
    const attempted = await fixture.attempt();
    const stream = await fixture.client(attempted).chat.completions.create({ ...simpleRequest, stream: true });
    const read = endOf(readAll(stream));
    await fixture.store.updateRollout(attempted.rolloutId, { status: 'cancelled' });
    const error = await read;
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(String(error)).toContain('while the call was in flight');
    await fixture.model.waitForDisconnects(1);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempted)).toMatchObject([{ isTrainable: false }]);
  });

  it('is complete after the finish reason: every token has arrived', async () => {
    const chunk = JSON.stringify(completionChunk());
    await using upstream = await startUpstream((response) => {
      // The end marker is never sent.
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${chunk}\n\n`);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempted = await fixture.attempt();
    const { rolloutId, attempt } = attempted;
    const stream = await fixture.client(attempted).chat.completions.create({ ...simpleRequest, stream: true });
    const parts = stream[Symbol.asyncIterator]();
    expect((await parts.next()).value?.choices[0]?.finish_reason).toBe('stop');
    await fixture.store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
    await fixture.gateway.drain(20_000);
    expect(await fixture.calls(attempted)).toMatchObject([{ isTrainable: true, untrainableReason: null }]);
  });

  it('does not affect the calls of other attempts', async () => {
    const finish = signalled();
    await using upstream = await startUpstream(async (response) => {
      await finish.promise;
      respondJson(response, completionBody());
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const [one, other] = [await fixture.attempt(), await fixture.attempt()];
    const [call, otherCall] = [one, other].map((attempt) =>
      fixture.client(attempt).chat.completions.create(simpleRequest),
    );
    await until(() => upstream.requests.length === 2);
    await fixture.store.updateRollout(one.rolloutId, { status: 'cancelled' });
    expect(await endOf(call ?? never)).toMatchObject({ status: 409 });
    finish.send();
    expect(await otherCall).toMatchObject({ id: 'chatcmpl-7' });
  });
});

describe('limits on calls', () => {
  it('abort a call that takes too long with 504', async () => {
    await using fixture = await startSilent({ maxCallMs: 100 });
    const attempted = await fixture.attempt();
    expect(await endOf(fixture.client(attempted).chat.completions.create(simpleRequest))).toMatchObject({
      status: 504,
      code: 'TIMEOUT',
    });
    const streamed = async (): Promise<void> => {
      await readAll(await fixture.client(attempted).chat.completions.create({ ...simpleRequest, stream: true }));
    };
    expect(String(await endOf(streamed()))).toContain('took longer than 100 ms');
    expect(fixture.gateway.state().inFlight).toBe(0);
  });

  it('reject excess calls with 429 and Retry-After', async () => {
    await using fixture = await startSilent({ maxCallsInFlight: 2 });
    const calls = [1, 2].map(() => endOf(fixture.client().chat.completions.create(simpleRequest)));
    await until(() => fixture.model.requests.length === 2);
    const error = await endOf(fixture.client().chat.completions.create(simpleRequest));
    expect(error).toMatchObject({ status: 429, message: expect.stringContaining('maxCallsInFlight') });
    await fixture.gateway.close();
    expect(await Promise.all(calls)).toMatchObject([{ status: 503 }, { status: 503 }]);
  });
});

describe('closing', () => {
  it.each(['record', 'pass'] as const)(
    'does not wait for a stream without a reader (unattributed calls: %s)',
    async (unattributedCalls) => {
      await using upstream = await startUpstream((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
      });
      await using store = await disposable();
      const gateway = createGateway({ store: store.store, upstream: { baseUrl: upstream.baseUrl }, unattributedCalls });
      const body = JSON.stringify({ ...simpleRequest, stream: true });
      const response = await gateway.app.request('/v1/chat/completions', { method: 'POST', body });
      expect(response.status).toBe(200);
      await gateway.close();
      expect(gateway.state().inFlight).toBe(0);
      // A later reader still gets the reason.
      expect(await response.text()).toContain('the gateway is closing');
    },
  );

  it('is idempotent', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    await fixture.client().chat.completions.create(simpleRequest);
    await Promise.all([fixture.gateway.close(), fixture.gateway.close()]);
  });
});

async function disposable(): Promise<AsyncDisposable & { readonly store: Awaited<ReturnType<typeof openStore>> }> {
  const store = await openStore(':memory:');
  return { store, [Symbol.asyncDispose]: () => store.close() };
}

describe('a request that does not arrive completely', () => {
  it('gets 408, and its connection is closed', async () => {
    await using fixture = await startGateway({ arrivalTimeoutMs: 100 });
    const { hostname, port } = new URL(fixture.gateway.url);
    const half = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"model":';
    const response = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(Number(port), hostname, () => socket.write(half));
      socket.on('data', (part) => {
        text += part.toString();
      });
      socket.on('error', reject).on('close', () => resolve(text));
    });
    expect(response).toMatch(/^HTTP\/1\.1 408 /);
    await fixture.gateway.drain(30_000);
  });
});
