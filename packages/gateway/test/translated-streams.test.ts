import type { Store } from '@agentlightning/core';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { respondWith } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import {
  completionBody,
  type GatewayFixture,
  respondJson,
  signalled,
  startGateway,
  startUpstream,
  storeWith,
} from './gateway-fixture.ts';

/** The fields of an event, in either protocol, that the tests check. */
interface ProtocolEvent {
  readonly type: string;
  readonly delta?: unknown;
}

type Stream = (fixture: GatewayFixture, attempt: AttemptedRollout) => Promise<AsyncIterable<ProtocolEvent>>;

const responses: Stream = (fixture, attempt) =>
  fixture.client(attempt).responses.create({ model: 'm', input: 'Count.', stream: true });

const messages: Stream = (fixture, attempt) =>
  new Anthropic({ baseURL: fixture.client(attempt).baseURL, apiKey: 'unused', maxRetries: 0 }).messages.create({
    model: 'm',
    max_tokens: 20_000,
    messages: [{ role: 'user', content: 'Count.' }],
    stream: true,
  });

/** The event types of each protocol: start and delta of a text part, and the last event. */
const protocols = [
  { name: 'Responses', open: responses, delta: 'response.output_text.delta', last: 'response.completed' },
  { name: 'Messages', open: messages, delta: 'content_block_delta', last: 'message_stop' },
];

describe.each(protocols)('a stream translated to $name', ({ open, delta, last }) => {
  it('sends the first text while the model generates the rest', async () => {
    const more = signalled();
    const script = [respondWith('one two', { until: more.promise, pauseAfterChunks: 2 })];
    await using fixture = await startGateway({ script });
    const types: string[] = [];
    for await (const { type } of await open(fixture, await fixture.attempt())) {
      types.push(type);
      if (type === delta) more.send();
    }
    expect(types.at(-1)).toBe(last);
  });

  it('sends its last event only once it is recorded', async () => {
    const recorded = signalled();
    let isStored = false;
    const inner = await openStore(':memory:');
    const appendSpans: Store['appendSpans'] = async (spans) => {
      await recorded.promise;
      const stored = await inner.appendSpans(spans);
      isStored = true;
      return stored;
    };
    await using fixture = await startGateway({
      store: storeWith(inner, { appendSpans }),
      script: [respondWith('one')],
    });
    const types: string[] = [];
    for await (const { type } of await open(fixture, await fixture.attempt())) {
      types.push(type);
      if (type === delta) recorded.send();
      if (type === last) expect(isStored).toBe(true);
    }
    expect(types.at(-1)).toBe(last);
  });

  it('ends with an error when it cannot be recorded', async () => {
    const inner = await openStore(':memory:');
    const appendSpans = (): Promise<never> => Promise.reject(new TypeError('disk full'));
    await using fixture = await startGateway({
      store: storeWith(inner, { appendSpans }),
      script: [respondWith('one')],
    });
    const types: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { type } of await open(fixture, await fixture.attempt())) types.push(type);
    };
    await read().catch((error: unknown) => types.push(String(error)));
    expect(types).toContain(delta);
    expect(types).not.toContain(last);
    expect(types.at(-1)).toMatch(/failed|disk full/);
  });

  it('ends with the message of an upstream error that is a string', async () => {
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"error":"out of memory"}\n\n');
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const read = async (): Promise<void> => {
      for await (const _ of await open(fixture, attempt));
    };
    await expect(read()).rejects.toThrow(/out of memory/);
  });

  it('breaks off at an invalid chunk instead of skipping it', async () => {
    const chunk = (delta: object, finish: string | null): string =>
      `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data:\n\n${chunk({ content: 'one ' }, null)}data: {"id":"c","cho\n\n`);
      response.end(`${chunk({ content: 'three' }, 'stop')}data: [DONE]\n\n`);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const types: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { type } of await open(fixture, attempt)) types.push(type);
    };
    await read().catch((error: unknown) => types.push(String(error)));
    expect(types).toContain(delta);
    expect(types).not.toContain(last);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([
      { isTrainable: false, untrainableReason: expect.stringContaining('not a JSON object') },
    ]);
  });

  it('is also sent if the upstream does not stream', async () => {
    await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const types: string[] = [];
    for await (const { type } of await open(fixture, attempt)) types.push(type);
    expect(types).toContain(delta);
    expect(types.at(-1)).toBe(last);
    expect(await fixture.calls(attempt)).toMatchObject([{ isTrainable: true }]);
  });

  it('is complete and trainable at any length', async () => {
    const script = [respondWith('word '.repeat(2000))];
    await using fixture = await startGateway({ script });
    const attempt = await fixture.attempt();
    let words = 0;
    for await (const { type } of await open(fixture, attempt)) if (type === delta) words += 1;
    expect(words).toBeGreaterThan(1000);
    expect(await fixture.calls(attempt)).toMatchObject([{ isTrainable: true }]);
  });
});
