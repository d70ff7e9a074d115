import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EndpointTeacher, probeText } from './endpoint-teacher.ts';

interface ScriptedResponse {
  readonly status?: number;
  readonly body?: unknown;
  /** Never responds. */
  readonly isSilent?: boolean;
}

/** The body of a request, as vLLM validates it. */
async function readRequest(request: IncomingMessage): Promise<readonly number[]> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const { model, prompt, max_tokens: maxTokens, prompt_logprobs: count, ...others } = JSON.parse(text);
  expect({ model, maxTokens, count, others }).toEqual({ model: 'large', maxTokens: 1, count: 1, others: {} });
  expect(request).toMatchObject({ method: 'POST', url: '/v1/completions' });
  expect(request.headers.authorization).toBe('Bearer key');
  return prompt;
}

/** A server that responds as scripted, and afterwards with the scores of a model of bytes. */
async function scripted(script: readonly ScriptedResponse[] = []): Promise<{ url: string; requests: number[][] }> {
  const requests: number[][] = [];
  const rest = [...script];
  const server = createServer((request, response) => {
    void readRequest(request).then((prompt) => {
      requests.push([...prompt]);
      const { status = 200, body = completion(prompt), isSilent = false } = rest.shift() ?? {};
      if (!isSilent) response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

/** As of vLLM: null for the first token; for others the token, and the likeliest one where it is another. */
function completion(prompt: readonly number[]): object {
  const scores = prompt.map((id, position) =>
    position === 0
      ? null
      : {
          [String(id)]: { logprob: -id / 100, rank: 2, decoded_token: String.fromCharCode(id) },
          [String(id + 1)]: { logprob: -0.01, rank: 1, decoded_token: String.fromCharCode(id + 1) },
        },
  );
  return { choices: [{ index: 0, text: 'x', finish_reason: 'length', prompt_logprobs: scores }] };
}

const limits = { timeoutMs: 200, tries: 2, retryDelayMs: 1 };
const teacherAt = (baseUrl: string): EndpointTeacher =>
  new EndpointTeacher({ baseUrl, model: 'large', apiKey: 'key' }, limits);

const entries = new Float32Array(3);
const datum: TrainingDatum = {
  tokenIds: Int32Array.of(65, 66, 67, 68, 69, 70),
  trained: [
    { start: 2, end: 4 },
    { start: 5, end: 6 },
  ],
  samplingLogprobs: entries,
  advantages: entries,
  weights: entries,
  temperature: 1,
  rolloutId: 'ro-1',
  groupId: 'gr-1',
  minPolicyVersion: 0,
  maxPolicyVersion: 0,
};

test('scores the trained tokens', async () => {
  const { url, requests } = await scripted();
  const [scores] = await teacherAt(url).logprobs({ data: [datum] });
  expect([...(scores ?? [])]).toEqual([-0.67, -0.68, -0.7].map(Math.fround));
  expect(requests).toEqual([[65, 66, 67, 68, 69, 70]]);
});

describe('a failure is a named error of the infrastructure', () => {
  const invalid = (scores: readonly unknown[]): object => ({ choices: [{ prompt_logprobs: scores }] });
  const whole = [null, ...Array.from({ length: 5 }, () => ({ 1: { logprob: -1 } }))];

  test.each([
    ['busy', [{ status: 503 }, { status: 503 }], 'UNREACHABLE', /status 503/],
    ['slow', [{ isSilent: true }, { isSilent: true }], 'TIMEOUT', /did not respond in 200 ms/],
    ['with another key', [{ status: 401 }], 'UNAUTHENTICATED', /rejects the key/],
    [
      'with a shorter context',
      [{ status: 400, body: 'maximum context length is 4' }],
      'UPSTREAM_FAILED',
      /context length/,
    ],
    ['without scores', [{ body: { choices: [{ text: 'x' }] } }], 'UPSTREAM_FAILED', /no `prompt_logprobs`/],
    ['cut off', [{ body: '{"choices":[{"prompt_logp' }], 'UPSTREAM_FAILED', /no `prompt_logprobs`/],
    ['with fewer scores', [{ body: invalid(whole.slice(0, 4)) }], 'UPSTREAM_FAILED', /4 of 6 prompt tokens/],
    ['with other tokens', [{ body: invalid(whole) }], 'UPSTREAM_FAILED', /token 67 at position 2/],
  ] as const)('%s', async (_, script, code, message) => {
    const { url } = await scripted(script);
    await expect(teacherAt(url).logprobs({ data: [datum] })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test('away', async () => {
    const failed = teacherAt('http://127.0.0.1:9/v1').logprobs({ data: [datum] });
    await expect(failed).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  test('and a busy endpoint is tried again', async () => {
    const { url, requests } = await scripted([{ status: 429 }]);
    expect(await teacherAt(url).logprobs({ data: [datum] })).toHaveLength(1);
    expect(requests).toHaveLength(2);
  });
});

describe('the tokenizer', () => {
  const bytes = [0, ...Buffer.from(probeText), 1];

  test('is that of the policy where the teacher reads the same text', async () => {
    const { url } = await scripted();
    await teacherAt(url).assertSameTokenizer(bytes);
  });

  test('is another one where it reads another text', async () => {
    const { url } = await scripted();
    const shifted = bytes.map((id) => id + 1);
    await expect(teacherAt(url).assertSameTokenizer(shifted)).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringContaining('another tokenizer'),
    });
  });
});
