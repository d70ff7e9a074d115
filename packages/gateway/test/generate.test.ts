import type { JsonObject } from '@agentlightning/core';
import { describe, expect, it } from 'vitest';
import { type GatewayFixture, respondJson, startGateway, startUpstream } from './gateway-fixture.ts';

const request = { request_id: 'r-1', token_ids: [10, 11, 12], sampling_params: { max_tokens: 8, temperature: 0.7 } };

const response = {
  request_id: 'r-1',
  choices: [
    {
      index: 0,
      token_ids: [20, 21],
      finish_reason: 'stop',
      logprobs: {
        content: [
          { token: 'token_id:20', logprob: -0.25 },
          { token: 'token_id:21', logprob: -0.5 },
        ],
      },
    },
  ],
  prompt_logprobs: null,
};

async function generate(fixture: GatewayFixture, baseUrl: string, body: object): Promise<[number, JsonObject]> {
  const sent = await fetch(`${baseUrl.replace(/\/v1$/, '')}/inference/v1/generate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await sent.text();
  await fixture.gateway.drain();
  return [sent.status, JSON.parse(text)];
}

describe('a call that samples from token ids', () => {
  it('is sent beside the API of the upstream, and recorded with its tokens', async () => {
    await using upstream = await startUpstream((sent) => respondJson(sent, response));
    await using fixture = await startGateway({
      upstream: { baseUrl: upstream.baseUrl, model: 'policy' },
      sampling: { train: { temperature: 1, seed: 3 } },
    });
    const attempt = await fixture.attempt('train');
    const [status, body] = await generate(fixture, fixture.baseUrl(attempt), request);
    expect(status).toBe(200);
    expect(body).toEqual({ ...response, choices: [{ ...response.choices[0], logprobs: null }] });
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toEqual({
      ...request,
      model: 'policy',
      sampling_params: { max_tokens: 8, temperature: 1, seed: expect.any(Number), logprobs: 0 },
    });
    expect(await fixture.calls(attempt)).toMatchObject([
      {
        responseId: 'r-1',
        model: 'policy',
        promptTokenIds: [10, 11, 12],
        choices: [{ responseTokenIds: [20, 21], responseLogprobs: [-0.25, -0.5], finishReason: 'stop' }],
        isTrainable: true,
        untrainableReason: null,
      },
    ]);
    const [span] = await fixture.spans(attempt);
    expect(span?.attributes['agentlightning.api']).toBe('generate');
  });

  it('keeps the log-probabilities that the client requested', async () => {
    await using upstream = await startUpstream((sent) => respondJson(sent, response));
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const own = { ...request, sampling_params: { logprobs: 1 } };
    const [, body] = await generate(fixture, fixture.baseUrl(await fixture.attempt()), own);
    expect(body).toEqual(response);
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toMatchObject(own);
  });

  it('without token ids is rejected with the parameter', async () => {
    await using fixture = await startGateway();
    const [status, body] = await generate(fixture, fixture.baseUrl(await fixture.attempt()), { token_ids: 'x' });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { param: 'token_ids' } });
  });
});
