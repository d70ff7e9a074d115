/**
 * A model server that answers at once, in a thread of its own: 1 kB of text, 200 prompt and 100
 * response token ids with log-probabilities. Tells its port to the parent.
 *
 * @module
 */
import { createServer } from 'node:http';
import { parentPort } from 'node:worker_threads';

const tokens = Array.from({ length: 100 }, (_, index) => 1000 + index);
const answer = JSON.stringify({
  id: 'chatcmpl-benchmark',
  object: 'chat.completion',
  created: 0,
  model: 'benchmark',
  policy_version: 1,
  prompt_token_ids: Array.from({ length: 200 }, (_, index) => index),
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'x'.repeat(1000) },
      finish_reason: 'stop',
      token_ids: tokens,
      logprobs: { content: tokens.map((id) => ({ token: `t${id}`, logprob: -0.5, bytes: [], top_logprobs: [] })) },
    },
  ],
  usage: { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 },
});

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  parentPort?.postMessage(typeof address === 'object' && address !== null ? address.port : 0);
});
