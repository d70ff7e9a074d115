import type { JsonObject } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { completionBody, respondJson, startGateway, startUpstream } from '../gateway-fixture.ts';
import { describeInterop } from './describe-interop.ts';
import { startPythonServer } from './python-peer.ts';

/** A Completions body in vLLM's format. */
const textBody = {
  id: 'cmpl-1',
  object: 'text_completion',
  model: 'policy',
  choices: [
    {
      index: 0,
      text: ' 5',
      finish_reason: 'stop',
      prompt_token_ids: [7, 8],
      token_ids: [9],
      logprobs: { tokens: [' 5'], token_logprobs: [-0.75], text_offset: [0], top_logprobs: null },
    },
  ],
  usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 },
};

const tooLong = { error: { message: 'the prompt is too long', type: 'invalid_request_error', param: null, code: 400 } };

describeInterop('model calls through the proxy of 1.0', (python) => {
  test('become the same triplets as with agl-server', async () => {
    await using upstream = await startUpstream((response, index) => {
      // Each server gets the same three calls.
      if (index % 3 === 0) respondJson(response, completionBody());
      else if (index % 3 === 1) respondJson(response, textBody);
      else response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(tooLong));
    });
    await using server = await startPythonServer(python, { key: 'secret', model: 'policy' });
    await using fixture = await startGateway({ upstream: [], aglServer: true, adminKey: 'secret' });
    const theirs = await play(server.url, upstream.baseUrl);
    const ours = await play(fixture.gateway.url, upstream.baseUrl);
    expect(ours).toEqual(theirs);
    expect(ours.triplets).toMatchObject([
      { prompt_token_ids: [10, 11, 12], response_token_ids: [20, 21], response_log_probs: [-0.25, -0.5] },
      { prompt_token_ids: [7, 8], response_token_ids: [9], response_log_probs: [-0.75] },
      { http_status: 400, status: 'error' },
    ]);
  }, 60_000);
});

async function play(url: string, endpoint: string): Promise<{ statuses: number[]; triplets: readonly JsonObject[] }> {
  const ask = async (path: string, body?: object): Promise<Response> =>
    await fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  await ask('/api/models', [{ model: 'policy', endpoint, version: 4 }]);
  await ask('/api/rollouts', [{ rollout_id: 'a', input: {} }]);
  const proxy = '/proxy/rollout/a/attempt/0/mode/train/openai/v1';
  const messages = [{ role: 'user', content: '2 + 3?' }];
  const calls = [
    await ask(`${proxy}/chat/completions`, { model: 'any', messages }),
    await ask(`${proxy}/completions`, { model: 'any', prompt: '2 + 3 =' }),
    await ask(`${proxy}/chat/completions`, { model: 'any', messages }),
  ];
  // Safe: the test checks it.
  const events = (await (await ask('/api/rollouts/a/events?format=triplet')).json()) as { readonly data: JsonObject }[];
  return {
    statuses: calls.map(({ status }) => status),
    // The gateway adds the upstream to the error message.
    triplets: events.map(({ data }) => ({ ...data, error: JSON.stringify(data.error ?? '').includes('too long') })),
  };
}
