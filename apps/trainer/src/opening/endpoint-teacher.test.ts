import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, test } from 'vitest';
import { scriptedTeacher } from '../../test/scripted-teacher.ts';
import { EndpointTeacher, probeText } from './endpoint-teacher.ts';

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
  const { url, requests } = await scriptedTeacher();
  const [scores] = await teacherAt(url).logprobs({ data: [datum] });
  expect([...(scores ?? [])]).toEqual([-0.67, -0.68, -0.7].map(Math.fround));
  expect(requests).toEqual([[65, 66, 67, 68, 69, 70]]);
});

test('a sequence with an image is refused: the teacher gets token ids only', async () => {
  const { url, requests } = await scriptedTeacher();
  const data = [{ ...datum, images: ['data:image/png;base64,AAAA'] }];
  await expect(teacherAt(url).logprobs({ data })).rejects.toMatchObject({ code: 'CONFIG' });
  expect(requests).toEqual([]);
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
    const { url } = await scriptedTeacher(script);
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
    const { url, requests } = await scriptedTeacher([{ status: 429 }]);
    expect(await teacherAt(url).logprobs({ data: [datum] })).toHaveLength(1);
    expect(requests).toHaveLength(2);
  });
});

describe('the tokenizer', () => {
  const bytes = [0, ...Buffer.from(probeText), 1];

  test('is that of the policy where the teacher reads the same text', async () => {
    const { url } = await scriptedTeacher();
    await teacherAt(url).assertSameTokenizer(bytes);
  });

  test('is another one where it reads another text', async () => {
    const { url } = await scriptedTeacher();
    const shifted = bytes.map((id) => id + 1);
    await expect(teacherAt(url).assertSameTokenizer(shifted)).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringContaining('another tokenizer'),
    });
  });
});
