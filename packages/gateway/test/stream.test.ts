import type { AttemptedRollout } from '@agentlightning/core/store';
import { callTool, respondWith } from '@agentlightning/core/testing';
import { describe, expect, it } from 'vitest';
import {
  completionChunk,
  type GatewayFixture,
  signalled,
  simpleRequest,
  startGateway,
  startUpstream,
} from './gateway-fixture.ts';

const streamedRequest = { ...simpleRequest, stream: true as const };

/** The text of a whole stream. */
async function readAll(fixture: GatewayFixture, attempt: AttemptedRollout): Promise<string> {
  let text = '';
  const stream = await fixture.client(attempt).chat.completions.create(streamedRequest);
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

describe('a streamed call', () => {
  it('is recorded with the tokens of all its chunks, which the client does not get', async () => {
    await using fixture = await startGateway({ script: [respondWith('one two three')] });
    const attempt = await fixture.attempt();
    const chunks: object[] = [];
    const stream = await fixture.client(attempt).chat.completions.create(streamedRequest);
    for await (const chunk of stream) chunks.push(chunk);
    expect(JSON.stringify(chunks)).not.toMatch(/token_ids|"logprob"|usage/);
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({ isTrainable: true, untrainableReason: null });
    expect(call?.choices[0]?.responseTokenIds).toHaveLength('one two three'.length + 1);
    expect(call?.response).toMatchObject({
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' }],
    });
  });

  it('is recorded like the same call without streaming', async () => {
    await using fixture = await startGateway({ script: () => respondWith('one two', { reasoning: 'hm' }) });
    const [whole, streamed] = [await fixture.attempt(), await fixture.attempt()];
    await fixture.client(whole).chat.completions.create(simpleRequest);
    await readAll(fixture, streamed);
    const [left] = await fixture.calls(whole);
    const [right] = await fixture.calls(streamed);
    expect(right?.choices).toEqual(left?.choices);
    expect(right?.promptTokenIds).toEqual(left?.promptTokenIds);
    expect(left?.response?.choices).toMatchObject([{ message: { content: 'one two', reasoning_content: 'hm' } }]);
    expect(right?.response?.choices).toMatchObject([{ message: { content: 'one two', reasoning_content: 'hm' } }]);
  });

  it('keeps tool calls whole, for the agent and in the record', async () => {
    await using fixture = await startGateway({ script: [callTool('add', { a: 2, b: 3 })] });
    const attempt = await fixture.attempt();
    const completion = await fixture.client(attempt).chat.completions.stream(streamedRequest).finalChatCompletion();
    const toolCall = { id: 'call_0_0', type: 'function', function: { name: 'add', arguments: '{"a":2,"b":3}' } };
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([toolCall]);
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({ isTrainable: true, choices: [{ finishReason: 'tool_calls' }] });
    expect(call?.response).toMatchObject({ choices: [{ message: { tool_calls: [toolCall] } }] });
  });

  it('records several choices separately', async () => {
    await using fixture = await startGateway({ script: [respondWith('red blue')] });
    const attempt = await fixture.attempt();
    for await (const _ of await fixture.client(attempt).chat.completions.create({ ...streamedRequest, n: 2 }));
    const [call] = await fixture.calls(attempt);
    expect(call?.isTrainable).toBe(true);
    expect(call?.choices.map((choice) => choice.responseTokenIds.length)).toEqual([9, 9]);
  });

  it('returns the usage to an agent that requested it', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const request = { ...streamedRequest, stream_options: { include_usage: true } };
    const stream = await fixture.client(await fixture.attempt()).chat.completions.create(request);
    let outputTokens: number | undefined;
    for await (const chunk of stream) outputTokens = chunk.usage?.completion_tokens ?? outputTokens;
    expect(outputTokens).toBe(2);
  });

  it('sends the first token while the model generates the others', async () => {
    const more = signalled();
    await using fixture = await startGateway({
      script: [respondWith('one two', { until: more.promise, pauseAfterChunks: 2 })],
    });
    const attempt = await fixture.attempt();
    const stream = await fixture.client(attempt).chat.completions.create(streamedRequest);
    let text = '';
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (text.startsWith('one')) more.send();
    }
    expect(text).toBe('one two');
    const [span] = await fixture.spans(attempt);
    const { 'agentlightning.time_to_first_token_ms': first, 'agentlightning.latency_ms': last } =
      span?.attributes ?? {};
    expect(Number(first)).toBeLessThan(Number(last));
  });

  it('forwards comments and unknown events', async () => {
    const text = ': ping\n\nevent: note\ndata: hello\n\ndata: [DONE]\n\n';
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const { rolloutId, attempt } = await fixture.attempt();
    const response = await fetch(
      `${fixture.gateway.url}/rollout/${rolloutId}/attempt/${attempt.attemptId}/v1/chat/completions`,
      { method: 'POST', body: JSON.stringify(streamedRequest) },
    );
    expect(await response.text()).toBe(text);
  });
});

describe('a stream that breaks off', () => {
  it('because the client disconnected is aborted upstream and partially recorded', async () => {
    await using fixture = await startGateway({
      script: [respondWith('one two three', { until: new Promise(() => undefined), pauseAfterChunks: 3 })],
    });
    const attempt = await fixture.attempt();
    const stream = await fixture.client(attempt).chat.completions.create(streamedRequest);
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content?.includes('two')) break;
    await fixture.model.waitForDisconnects(1);
    await fixture.gateway.drain();
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({
      isTrainable: false,
      untrainableReason: expect.stringContaining('client disconnected'),
    });
    expect(call?.response).toMatchObject({ choices: [{ message: { content: 'one two ' } }] });
    expect((await fixture.spans(attempt))[0]?.attributes['agentlightning.partial']).toBe(true);
  });

  it('because the client disconnected after the finish reason is complete: every token has arrived', async () => {
    const chunk = JSON.stringify(completionChunk());
    await using upstream = await startUpstream((response) => {
      // The end marker is never sent.
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${chunk}\n\n`);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const stream = await fixture.client(attempt).chat.completions.create(streamedRequest);
    for await (const part of stream) if (part.choices[0]?.finish_reason) break;
    await fixture.gateway.drain();
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({ isTrainable: true, untrainableReason: null });
    expect(call?.choices[0]?.responseTokenIds).toEqual([20, 21]);
  });

  it('because the upstream was killed ends with an error that the client throws', async () => {
    await using fixture = await startGateway({ script: [respondWith('one two three', { cutAfterChunks: 3 })] });
    const attempt = await fixture.attempt();
    await expect(readAll(fixture, attempt)).rejects.toThrow(/broke off its response/);
    await fixture.gateway.drain();
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({ isTrainable: false, untrainableReason: expect.stringContaining('broke off') });
    expect(call?.choices[0]?.responseTokenIds).toHaveLength('one two '.length);
    expect(fixture.model.requests).toHaveLength(1);
  });

  it('because the upstream reports an error ends with the upstream’s message', async () => {
    await using fixture = await startGateway({ script: [respondWith('one two three', { errorAfterChunks: 2 })] });
    const attempt = await fixture.attempt();
    await expect(readAll(fixture, attempt)).rejects.toThrow(/scripted stream error/);
    await fixture.gateway.drain();
    const [call] = await fixture.calls(attempt);
    expect(call).toMatchObject({ isTrainable: false, untrainableReason: expect.stringContaining('scripted stream') });
  });

  it('without an end marker is complete when every choice has a finish reason', async () => {
    const chunk = { id: 'c', choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] };
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(chunk)}\n\n`);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    expect(await readAll(fixture, attempt)).toBe('hi');
    expect((await fixture.spans(attempt))[0]?.attributes['agentlightning.partial']).toBe(false);
  });
});

describe('a call that is not streamed and whose client disconnects', () => {
  it('is aborted upstream and recorded as untrainable', async () => {
    await using fixture = await startGateway({ script: [respondWith('5', { until: new Promise(() => undefined) })] });
    const attempt = await fixture.attempt();
    const leaving = new AbortController();
    const call = fixture.client(attempt).chat.completions.create(simpleRequest, { signal: leaving.signal });
    while (fixture.model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    await expect(call).rejects.toThrow();
    await fixture.model.waitForDisconnects(1);
    await fixture.gateway.drain();
    const [recorded] = await fixture.calls(attempt);
    expect(recorded).toMatchObject({
      isTrainable: false,
      untrainableReason: expect.stringContaining('client disconnected'),
    });
  });
});
