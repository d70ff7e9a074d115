import { CapturedResponse } from '@agentlightning/core/internal';
import { expect, it } from 'vitest';
import type { StreamEntry } from '../wire/server-sent-events.ts';
import { ChatStream } from './chat-stream.ts';
import type { AddedFields } from './prepared-request.ts';

const everything: AddedFields = { logprobs: true, tokenIds: true, usage: true };
const nothing: AddedFields = { logprobs: false, tokenIds: false, usage: false };

function event(data: string): StreamEntry {
  return { kind: 'event', event: undefined, data };
}

const tokens = {
  logprobs: {
    content: [
      { token: 'say', logprob: -0.25, bytes: null, top_logprobs: [] },
      { token: ' "5"', logprob: -1e-9, bytes: [34], top_logprobs: [] },
    ],
  },
  token_ids: [7, 8],
};

it('the fields that only the gateway requested are captured and removed from the chunk', () => {
  const captured = new CapturedResponse();
  const stream = new ChatStream(captured, everything);
  const delta = { role: 'assistant', content: 'say "5"' };
  const chunk = { id: 'c', prompt_token_ids: [1, 2], choices: [{ index: 0, delta, ...tokens, finish_reason: 'stop' }] };
  const usage = { prompt_tokens: 2, completion_tokens: 2 };
  expect(stream.take(event(JSON.stringify(chunk)))).toBe(
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, logprobs: null, finish_reason: 'stop' }] })}\n\n`,
  );
  expect(stream.take(event(JSON.stringify({ id: 'c', choices: [], usage })))).toBe('');
  expect(captured.promptTokenIds).toEqual([1, 2]);
  expect(captured.usage).toEqual({ inputTokens: 2, cachedInputTokens: null, outputTokens: 2 });
  expect(captured.choices).toEqual([
    { index: 0, responseTokenIds: [7, 8], responseLogprobs: [-0.25, -1e-9], finishReason: 'stop' },
  ]);
  expect(captured.responseTokens).toEqual(['say', ' "5"']);
  expect(stream.recorded()).toMatchObject({ choices: [{ message: delta, finish_reason: 'stop' }] });
});

it.each([
  ['of a request that the gateway added nothing to', nothing, '{"id" : "c", "choices":[ {"delta":{"content":"a"}}] }'],
  ['that is not JSON', everything, '{"choices":[{"delta":'],
  ['that is not an object', everything, '[{"token_ids":[1]}]'],
])('a chunk %s reaches the client unchanged', (_, added, data) => {
  expect(new ChatStream(new CapturedResponse(), added).take(event(data))).toBe(`data: ${data}\n\n`);
});

it('the name of an event and the text of a comment are kept', () => {
  const stream = new ChatStream(new CapturedResponse(), everything);
  const data = JSON.stringify({ choices: [{ delta: { content: 'a' }, token_ids: [1] }] });
  const entries: readonly StreamEntry[] = [
    { kind: 'event', event: 'part', data },
    { kind: 'comment', text: 'still here' },
  ];
  expect(entries.map((given) => stream.take(given))).toEqual([
    'event: part\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\n',
    ': still here\n\n',
  ]);
});
