import { describe, expect, it } from 'vitest';
import { respondJson, startGateway, startUpstream } from './gateway-fixture.ts';

const request = { model: 'gpt-4o', prompt: '2 + 3 =' };

/** A vLLM-like choice of two response tokens. */
function choice(index: number, changes: object = {}): object {
  return {
    index,
    text: ' 5',
    finish_reason: 'stop',
    prompt_token_ids: [10, 11, 12],
    token_ids: [20, 21],
    logprobs: {
      tokens: [' 5', '<eos>'],
      token_logprobs: [-0.25, -0.5],
      top_logprobs: [null, null],
      text_offset: [0, 2],
    },
    ...changes,
  };
}

function body(choices: readonly object[], changes: object = {}): object {
  const usage = { prompt_tokens: 3, completion_tokens: 2 * choices.length, total_tokens: 3 + 2 * choices.length };
  return { id: 'cmpl-7', object: 'text_completion', created: 1, model: 'policy-7', choices, usage, ...changes };
}

describe('a call of Completions', () => {
  it('returns the response of the model, and is recorded with the tokens of every choice', async () => {
    await using upstream = await startUpstream((response) => respondJson(response, body([choice(0), choice(1)])));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, model: 'policy' } });
    const attempt = await fixture.attempt();
    const completion = await fixture.client(attempt).completions.create({ ...request, n: 2 });
    expect(completion.choices).toEqual(
      [0, 1].map((index) => ({ index, text: ' 5', finish_reason: 'stop', logprobs: null })),
    );
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toEqual({
      ...request,
      n: 2,
      model: 'policy',
      logprobs: 1,
      return_token_ids: true,
    });
    const tokens = { responseTokenIds: [20, 21], responseLogprobs: [-0.25, -0.5], finishReason: 'stop' };
    expect(await fixture.calls(attempt)).toMatchObject([
      {
        responseId: 'cmpl-7',
        promptTokenIds: [10, 11, 12],
        choices: [
          { index: 0, ...tokens },
          { index: 1, ...tokens },
        ],
        isTrainable: true,
        untrainableReason: null,
        request: { ...request, n: 2 },
        response: completion,
      },
    ]);
  });

  it('is streamed, and recorded like the same call without streaming', async () => {
    const none = { finish_reason: null, logprobs: null, token_ids: null };
    const chunks = [
      body([choice(0, { ...none, text: ' ', token_ids: [20], logprobs: { tokens: [' '], token_logprobs: [-0.25] } })]),
      body([choice(0, { text: '5', token_ids: [21], logprobs: { tokens: ['5'], token_logprobs: [-0.5] } })]),
      body([], { usage: { prompt_tokens: 3, completion_tokens: 2 } }),
    ].map((chunk, index) => (index < 2 ? { ...chunk, usage: undefined } : chunk));
    const text = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const seen: object[] = [];
    for await (const chunk of await fixture.client(attempt).completions.create({ ...request, stream: true }))
      seen.push(chunk);
    expect(seen).toHaveLength(2);
    expect(JSON.stringify(seen)).not.toMatch(/token_ids|token_logprobs|usage/);
    expect(await fixture.calls(attempt)).toMatchObject([
      {
        promptTokenIds: [10, 11, 12],
        choices: [{ responseTokenIds: [20, 21], responseLogprobs: [-0.25, -0.5], finishReason: 'stop' }],
        isTrainable: true,
        response: { object: 'text_completion', choices: [{ index: 0, text: ' 5', finish_reason: 'stop' }] },
      },
    ]);
  });

  it('with several prompts is untrainable: their tokens cannot be separated', async () => {
    const choices = [choice(0), choice(1, { prompt_token_ids: [13, 14] })];
    const usage = { prompt_tokens: 5, completion_tokens: 4 };
    await using upstream = await startUpstream((response) => respondJson(response, body(choices, { usage })));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    await fixture.client(attempt).completions.create({ ...request, prompt: ['2 + 3 =', '4 ='] });
    expect(await fixture.calls(attempt)).toMatchObject([
      { isTrainable: false, untrainableReason: expect.stringContaining('3 prompt token ids, but the usage says 5') },
    ]);
  });

  it('returns log-probabilities that the agent requested', async () => {
    await using upstream = await startUpstream((response) => respondJson(response, body([choice(0)])));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const completion = await fixture.client(await fixture.attempt()).completions.create({ ...request, logprobs: 3 });
    expect(completion.choices[0]?.logprobs?.token_logprobs).toEqual([-0.25, -0.5]);
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toMatchObject({ logprobs: 3 });
  });

  it('that breaks off ends with an error that the client throws', async () => {
    const chunk = body([choice(0, { finish_reason: null })]);
    await using upstream = await startUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chunk)}\n\n`, () => response.destroy());
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const stream = await fixture.client(attempt).completions.create({ ...request, stream: true });
    const read = async (): Promise<void> => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow(/broke off/);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([
      { isTrainable: false, response: { choices: [{ text: ' 5' }] } },
    ]);
  });
});
