import { AgentLightningError, type Store } from '@agentlightning/core';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { respondWith } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { describe, expect, it } from 'vitest';
import {
  completionBody,
  respondJson,
  signalled,
  simpleRequest,
  startGateway,
  startUpstream,
  storeWith,
} from './gateway-fixture.ts';

/** A store whose spans wait for a signal, and the spans that the gateway has tried to write. */
async function slowStore(): Promise<{ store: Store; release: () => void; reached: Promise<void> }> {
  const [released, reached] = [signalled(), signalled()];
  const inner = await openStore(':memory:');
  const store = storeWith(inner, {
    appendSpans: async (spans) => {
      reached.send();
      await released.promise;
      return await inner.appendSpans(spans);
    },
  });
  return { store, release: released.send, reached: reached.promise };
}

const unreachable = new AgentLightningError({ code: 'UNREACHABLE', message: 'the store at http://s is gone' });

describe('before-response', () => {
  it('holds a response back until it is recorded', async () => {
    const { store, release, reached } = await slowStore();
    await using fixture = await startGateway({ store, script: [respondWith('5')] });
    const attempt = await fixture.attempt();
    let hasResponded = false;
    const call = fixture.client(attempt).chat.completions.create(simpleRequest);
    const settled = call.then(() => {
      hasResponded = true;
    });
    await reached;
    expect(await fixture.spans(attempt)).toEqual([]);
    // A response that was not held back would arrive before that of a later request.
    await fetch(`${fixture.gateway.url}/health`);
    expect(hasResponded).toBe(false);
    release();
    await settled;
    expect(await fixture.spans(attempt)).toHaveLength(1);
  });

  it('holds the end of a stream back until it is recorded', async () => {
    const { store, release, reached } = await slowStore();
    await using fixture = await startGateway({ store, script: [respondWith('one two')] });
    const attempt = await fixture.attempt();
    const stream = await fixture.client(attempt).chat.completions.create({ ...simpleRequest, stream: true });
    let text = '';
    let hasEnded = false;
    const read = (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      hasEnded = true;
    })();
    await reached;
    while (text !== 'one two') await new Promise((resolve) => setImmediate(resolve));
    expect(hasEnded).toBe(false);
    release();
    await read;
    expect(await fixture.spans(attempt)).toHaveLength(1);
  });

  it('responds with 503 when the store rejects the record', async () => {
    const inner = await openStore(':memory:');
    const store = storeWith(inner, { appendSpans: () => Promise.reject(unreachable) });
    await using fixture = await startGateway({ store, script: [respondWith('5')] });
    const call = fixture.client(await fixture.attempt()).chat.completions.create(simpleRequest);
    await expect(call).rejects.toMatchObject({ status: 503, code: 'UNREACHABLE', type: 'store_unavailable' });
    expect(fixture.gateway.state().inFlight).toBe(0);
  });

  it('ends a stream with an error when the store rejects the record', async () => {
    const inner = await openStore(':memory:');
    const store = storeWith(inner, { appendSpans: () => Promise.reject(unreachable) });
    await using fixture = await startGateway({ store, script: [respondWith('5')] });
    const client = fixture.client(await fixture.attempt());
    const stream = await client.chat.completions.create({ ...simpleRequest, stream: true });
    const readAll = async (): Promise<void> => {
      for await (const _ of stream);
    };
    await expect(readAll()).rejects.toThrow(/the call is not recorded/);
  });

  it('responds with 503 and calls no model when the attempt cannot be read', async () => {
    const inner = await openStore(':memory:');
    const store = storeWith(inner, { getLatestAttempt: () => Promise.reject(unreachable) });
    await using fixture = await startGateway({ store });
    const call = fixture.client(await fixture.attempt()).chat.completions.create(simpleRequest);
    await expect(call).rejects.toMatchObject({ status: 503 });
    expect(fixture.model.requests).toEqual([]);
  });
});

describe('background', () => {
  it('responds before the call is recorded, and drain waits for the record', async () => {
    const { store, release } = await slowStore();
    await using fixture = await startGateway({ store, script: [respondWith('5')], durability: 'background' });
    const attempt = await fixture.attempt();
    await fixture.client(attempt).chat.completions.create(simpleRequest);
    expect(await fixture.spans(attempt)).toEqual([]);
    release();
    await fixture.gateway.drain();
    expect(await fixture.spans(attempt)).toHaveLength(1);
  });
});

describe('64 concurrent attempts', () => {
  it('are isolated, and recorded in fewer transactions than calls', async () => {
    const inner = await openStore(':memory:');
    let transactions = 0;
    const store = storeWith(inner, {
      appendSpans: async (spans) => {
        transactions += 1;
        return await inner.appendSpans(spans);
      },
    });
    await using fixture = await startGateway({
      store,
      script: ({ messages }) => respondWith(`echo ${String(messages[0]?.content)}`),
    });
    const run = async (index: number): Promise<AttemptedRollout> => {
      const attempt = await fixture.attempt();
      const client = fixture.client(attempt);
      for (const turn of ['first', 'second']) {
        const messages = [{ role: 'user' as const, content: `${turn} of ${index}` }];
        const stream = index % 2 === 0;
        if (stream) for await (const _ of await client.chat.completions.create({ model: 'm', messages, stream }));
        else await client.chat.completions.create({ model: 'm', messages });
      }
      return attempt;
    };
    const attempts = await Promise.all(Array.from({ length: 64 }, (_, index) => run(index)));
    for (const [index, attempt] of attempts.entries()) {
      const calls = await fixture.calls(attempt);
      expect(calls.map((call) => call.response)).toMatchObject([
        { choices: [{ message: { content: `echo first of ${index}` } }] },
        { choices: [{ message: { content: `echo second of ${index}` } }] },
      ]);
      expect(calls.every((call) => call.isTrainable)).toBe(true);
    }
    expect(transactions).toBeLessThan(128);
  });
});

describe('a call that is larger than a span may be', () => {
  it.each([
    [40_000, true, ['gen_ai.input.messages']],
    [20_000, true, ['gen_ai.input.messages', 'agentlightning.request_body']],
  ])(
    'is recorded without its largest attributes where a span has at most %i bytes',
    async (maxSpanBytes, isTrainable, omitted) => {
      const store = await openStore(':memory:', { quotas: { maxSpanBytes } });
      await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
      await using fixture = await startGateway({ store, upstream: { baseUrl: upstream.baseUrl } });
      const attempt = await fixture.attempt();
      const content = 'x '.repeat(12_000);
      await fixture
        .client(attempt)
        .chat.completions.create({ ...simpleRequest, messages: [{ role: 'user', content }] });
      const [span] = await fixture.spans(attempt);
      expect(span?.attributes['agentlightning.omitted_attributes']).toEqual(omitted);
      expect(await fixture.calls(attempt)).toMatchObject([{ isTrainable, promptTokenIds: [10, 11, 12] }]);
    },
  );
});
