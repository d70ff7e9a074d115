import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { transitionsFromSpans } from '@agentlightning/algorithms/internal';
import { expect, onTestFinished, test } from 'vitest';
import { encodeConversation } from './encode-conversation.ts';

test('the images of a conversation are those of its transition', async () => {
  const answer = { role: 'assistant', content: 'two' };
  const server = createServer((_request, response) => {
    const choice = { index: 0, message: answer, finish_reason: 'stop', token_ids: [7] };
    const logprobs = { content: [{ token: 'two', logprob: -1, bytes: null, top_logprobs: [] }] };
    response.end(JSON.stringify({ prompt_token_ids: [9, 9, 1], choices: [{ ...choice, logprobs }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const url = 'data:image/png;base64,AAAA';
  const content = [
    { type: 'image_url', image_url: { url } },
    { type: 'text', text: 'How many?' },
  ];
  const spans = await encodeConversation(
    { messages: [{ role: 'user', content }, answer] },
    { rolloutId: 'ro-1', attemptId: 'at-1' },
    { baseUrl: `http://127.0.0.1:${port}`, model: 'tiny', apiKey: null },
  );
  expect(transitionsFromSpans(spans)).toMatchObject({
    transitions: [{ promptTokenIds: [9, 9, 1], responseTokenIds: [7], images: [url] }],
    excluded: {},
  });
});
