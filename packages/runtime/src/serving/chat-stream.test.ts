import { expect, test } from 'vitest';
import { chatCompletion } from './chat-completion.ts';
import type { ParsedResponse } from './chat-message.ts';
import type { ChatRequest } from './chat-request.ts';
import type { ChatSampling, SampledResponse, TextDelta } from './chat-sampling.ts';
import { chatChunks } from './chat-stream.ts';

const identity = { id: 'chatcmpl-1', created: 1, model: 'm' };
const request: ChatRequest = { model: 'm', messages: [], logprobs: true, return_token_ids: true };
const message: ParsedResponse = { content: '5.', reasoning: 'Two and three.', toolCalls: [], finishReason: 'stop' };

/** What is streamed after each of three tokens, and at the end. */
const deltas: readonly TextDelta[] = [
  { reasoning: 'Two', content: '' },
  { reasoning: '', content: '' },
  { reasoning: ' and three.', content: '' },
];

function sampling(): ChatSampling {
  const choices = deltas.map((_, index) => ({ token: index + 7, logprob: -1 - index, top: [] }));
  const result: SampledResponse = { promptTokens: [1, 2], choices, finishReason: 'stop', cachedTokens: 0 };
  const rest = deltas.values();
  return {
    promptTokens: [1, 2],
    policyVersion: 1,
    responses: [
      {
        result: Promise.resolve(result),
        async *[Symbol.asyncIterator]() {
          yield* choices;
        },
      },
    ],
    read: () => message,
    streamText: () => ({
      take: () => rest.next().value ?? { reasoning: '', content: '' },
      rest: () => ({ reasoning: '', content: '5.' }),
    }),
    tokenText: (token) => ({ text: String(token), bytes: [] }),
  };
}

test('reasoning is apart from the text, and has its token ids and log-probabilities', async () => {
  const body = chatCompletion(identity, {
    request,
    results: await Promise.all(sampling().responses.map(({ result }) => result)),
    sampling: sampling(),
  });
  expect(body['choices']).toMatchObject([
    {
      message: { content: '5.', reasoning_content: 'Two and three.' },
      token_ids: [7, 8, 9],
      logprobs: { content: [{ logprob: -1 }, { logprob: -2 }, { logprob: -3 }] },
    },
  ]);
});

test('reasoning is streamed in its own deltas, each with the token ids of its chunk', async () => {
  const parts = [];
  for await (const { choices } of chatChunks(identity, request, sampling())) {
    parts.push((choices as readonly Record<string, unknown>[])[0]);
  }
  expect(parts.slice(1)).toMatchObject([
    { delta: { reasoning_content: 'Two' }, token_ids: [7], logprobs: { content: [{ logprob: -1 }] } },
    { delta: {}, token_ids: [8] },
    { delta: { reasoning_content: ' and three.' }, token_ids: [9] },
    { delta: { content: '5.' }, finish_reason: 'stop' },
  ]);
  expect(parts[2]?.['delta']).toEqual({});
});
