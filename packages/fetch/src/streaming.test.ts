import { type RolloutContext, withRollout } from '@agentlightning/core';
import { AttemptSpans, modelCallFromSpan } from '@agentlightning/core/spans';
import { aRolloutContext, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { traceFetch } from './trace-fetch.ts';

const messages = [{ role: 'user' as const, content: 'What is 2 + 3?' }];
const vllm = { logprobs: true, return_token_ids: true } as object;
const usage = { stream_options: { include_usage: true } };

function clientOf(model: ScriptedModel): OpenAI {
  return new OpenAI({ baseURL: model.baseUrl, apiKey: 'x', maxRetries: 0, fetch: traceFetch() });
}

function recordingContext(): { context: RolloutContext; sink: MemorySpanSink } {
  const sink = new MemorySpanSink();
  return { sink, context: aRolloutContext({ sink }) };
}

async function collect<TItem>(items: AsyncIterable<TItem>): Promise<TItem[]> {
  const all: TItem[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test('a stream is recorded like a non-streaming response', async () => {
  const toolCalls = [{ id: 'call_1', name: 'add', arguments: { a: 2, b: 3 } }];
  const step = respondWith('Let me add.', { toolCalls, reasoning: 'Two and three.' });
  await using model = await ScriptedModel.start([step, step]);
  const { context, sink } = recordingContext();
  const client = clientOf(model);
  await withRollout(context, async () => {
    await client.chat.completions.create({ model: 'tiny', messages, ...vllm });
    await collect(await client.chat.completions.create({ model: 'tiny', messages, stream: true, ...usage, ...vllm }));
  });
  const [whole, streamed] = sink.spans.map((span) => modelCallFromSpan(span));
  expect(streamed?.isTrainable).toBe(true);
  expect(streamed?.promptTokenIds).toEqual(whole?.promptTokenIds);
  expect(streamed?.choices).toEqual(whole?.choices);
  expect({ ...streamed?.response, id: 'any' }).toEqual({ ...whole?.response, id: 'any' });
  expect(sink.spans[1]?.attributes).toMatchObject({
    'agentlightning.stream': true,
    'agentlightning.partial': false,
    'gen_ai.usage.output_tokens': sink.spans[0]?.attributes['gen_ai.usage.output_tokens'],
  });
});

test('cancelling a stream cancels generation and records the partial response', async () => {
  await using model = await ScriptedModel.start([
    respondWith('one two three', { pauseAfterChunks: 3, until: new Promise(() => {}) }),
  ]);
  const { context, sink } = recordingContext();
  await withRollout(context, async () => {
    const stream = await clientOf(model).chat.completions.create({ model: 'tiny', messages, stream: true, ...vllm });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'two ') break;
  });
  await model.waitForDisconnects(1);
  const call = sink.spans[0] && modelCallFromSpan(sink.spans[0]);
  expect(call).toMatchObject({
    isTrainable: false,
    untrainableReason: 'the agent stopped reading before the response was complete',
    response: { choices: [{ message: { content: 'one two ' } }] },
  });
  expect(sink.spans[0]?.attributes['agentlightning.partial']).toBe(true);
});

test('cancelling a non-streaming body closes the connection without an abort signal', async () => {
  await using model = await ScriptedModel.start([
    respondWith('one two three', { pauseAfterChunks: 2, until: new Promise(() => {}) }),
  ]);
  const { context, sink } = recordingContext();
  await withRollout(context, async () => {
    const body = JSON.stringify({ model: 'tiny', messages, stream: true });
    const response = await traceFetch()(`${model.baseUrl}/chat/completions`, { method: 'POST', body });
    expect(response.url).toBe(`${model.baseUrl}/chat/completions`);
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
  });
  await model.waitForDisconnects(1);
  expect(sink.spans[0]?.attributes['agentlightning.partial']).toBe(true);
});

test('an abort ends the call and records the partial response', async () => {
  await using model = await ScriptedModel.start([
    respondWith('one two three', { pauseAfterChunks: 2, until: new Promise(() => {}) }),
  ]);
  const { context, sink } = recordingContext();
  const controller = new AbortController();
  const run = withRollout(context, async () => {
    const stream = await clientOf(model).chat.completions.create(
      { model: 'tiny', messages, stream: true },
      { signal: controller.signal },
    );
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'one ') controller.abort();
  });
  await run.catch(() => {});
  await model.waitForDisconnects(1);
  expect(sink.spans).toHaveLength(1);
  expect(sink.spans[0]?.attributes).toMatchObject({
    'agentlightning.partial': true,
    'agentlightning.trainable': false,
  });
});

test('a truncated stream fails in the agent and records the partial response', async () => {
  await using model = await ScriptedModel.start([respondWith('one two three', { cutAfterChunks: 3 })]);
  const { context, sink } = recordingContext();
  const run = withRollout(context, async () =>
    collect(await clientOf(model).chat.completions.create({ model: 'tiny', messages, stream: true })),
  );
  await expect(run).rejects.toThrow();
  expect(sink.spans[0]?.status).toMatchObject({ code: 'ERROR', message: expect.stringContaining('interrupted') });
  expect(sink.spans[0]?.attributes['agentlightning.response_body']).toContain('one two ');
});

test('an error event within a stream is recorded with its message', async () => {
  await using model = await ScriptedModel.start([respondWith('one two', { errorAfterChunks: 2 })]);
  const { context, sink } = recordingContext();
  const run = withRollout(context, async () =>
    collect(await clientOf(model).chat.completions.create({ model: 'tiny', messages, stream: true })),
  );
  await expect(run).rejects.toThrow('scripted stream error');
  expect(sink.spans[0]?.status).toEqual({ code: 'ERROR', message: 'scripted stream error' });
});

test('the end of the attempt records the received part of an open stream', async () => {
  await using model = await ScriptedModel.start([
    respondWith('one two three', { pauseAfterChunks: 2, until: new Promise(() => {}) }),
  ]);
  const sink = new MemorySpanSink();
  const spans = new AttemptSpans(sink);
  await withRollout(aRolloutContext({ sink: spans }), async () => {
    const stream = await clientOf(model).chat.completions.create({ model: 'tiny', messages, stream: true });
    await stream[Symbol.asyncIterator]().next();
  });
  expect(spans.close()).toBe(1);
  expect(sink.spans[0]?.attributes).toMatchObject({
    'agentlightning.abandoned': true,
    'agentlightning.untrainable_reason': 'the attempt ended before the response was complete',
  });
});

test('32 concurrent rollouts, streaming and non-streaming, are recorded separately', async () => {
  await using model = await ScriptedModel.start((request) =>
    respondWith(`answer to ${String(request.messages.at(-1)?.content)}`),
  );
  const client = clientOf(model);
  const rollouts = Array.from({ length: 32 }, (_, index) => ({ index, ...recordingContext() }));
  await Promise.all(
    rollouts.map(({ index, context }) =>
      withRollout(context, async () => {
        const ask = [{ role: 'user' as const, content: `question ${index}` }];
        const body = { model: 'tiny', messages: ask, ...vllm };
        const [whole, stream] = await Promise.all([
          client.chat.completions.create(body),
          client.chat.completions.create({ ...body, stream: true, ...usage }),
        ]);
        expect(whole.choices[0]?.message.content).toBe(`answer to question ${index}`);
        await collect(stream);
      }),
    ),
  );
  for (const { index, context, sink } of rollouts) {
    expect(sink.spans).toHaveLength(2);
    for (const span of sink.spans) {
      expect(span).toMatchObject({ rolloutId: context.rolloutId, traceId: context.traceId });
      expect(modelCallFromSpan(span)).toMatchObject({
        isTrainable: true,
        response: { choices: [{ message: { content: `answer to question ${index}` } }] },
      });
    }
  }
});

test('32 concurrent rollouts use 32 different gateway URLs', async () => {
  await using gateway = await ScriptedModel.start((request) => respondWith(request.path));
  const client = clientOf(gateway);
  const root = gateway.baseUrl.replace('/v1', '');
  await Promise.all(
    Array.from({ length: 32 }, async (_, index) => {
      const baseUrl = `${root}/rollout/ro-${index}/attempt/at-${index}/v1`;
      const context = aRolloutContext({ endpoint: { baseUrl, model: 'policy', apiKey: `key-${index}` } });
      const completion = await withRollout(context, () => client.chat.completions.create({ model: 'tiny', messages }));
      expect(completion.choices[0]?.message.content).toBe(
        `/rollout/ro-${index}/attempt/at-${index}/v1/chat/completions`,
      );
    }),
  );
});

test('the last event is read even without a trailing empty line', async () => {
  const events = [{ delta: { content: 'five' } }, { delta: {}, finish_reason: 'stop' }];
  const lines = events.map((choice) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, ...choice }] })}`);
  const reply = new Response(lines.join('\n\n'), { headers: { 'content-type': 'text/event-stream' } });
  const { context, sink } = recordingContext();
  await withRollout(context, async () => {
    const body = JSON.stringify({ model: 'tiny', messages });
    const traced = traceFetch({ fetch: async () => reply });
    await (await traced('http://model.invalid/v1/chat/completions', { method: 'POST', body })).text();
  });
  expect(sink.spans[0]?.status.code).toBe('OK');
  expect(sink.spans[0]?.attributes).toMatchObject({ 'gen_ai.response.finish_reasons': ['stop'] });
});
