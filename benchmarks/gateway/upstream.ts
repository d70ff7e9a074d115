/**
 * A model server that answers at once, in a process of its own: 1 kB of text, 200 prompt and 100 response token ids
 * with log-probabilities. Streams come in 20 parts, all at once, or one every few milliseconds when the request asks
 * for `pace_ms`; each part says when it was written. Tells its port to its parent.
 *
 * @module
 */
import { createServer, type ServerResponse } from 'node:http';

const partCount = 20;
const tokens = Array.from({ length: 100 }, (_, index) => 1000 + index);
const promptTokenIds = Array.from({ length: 200 }, (_, index) => index);
const usage = { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 };
const head = { id: 'chatcmpl-benchmark', created: 0, model: 'benchmark', policy_version: 1 };

const whole = Buffer.from(
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    prompt_token_ids: promptTokenIds,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'x'.repeat(1000) },
        finish_reason: 'stop',
        token_ids: tokens,
        logprobs: { content: tokens.map(logprob) },
      },
    ],
    usage,
  }),
);

function logprob(id: number): object {
  return { token: `t${id}`, logprob: -0.5, bytes: [], top_logprobs: [] };
}

/** One part of a stream; the place for the time it is written at is `@`. */
function part(index: number): string {
  const size = tokens.length / partCount;
  const ids = tokens.slice(index * size, (index + 1) * size);
  const isLast = index === partCount - 1;
  const chunk = {
    ...head,
    object: 'chat.completion.chunk',
    ...(index === 0 ? { prompt_token_ids: promptTokenIds } : {}),
    choices: [
      {
        index: 0,
        delta: { ...(index === 0 ? { role: 'assistant' } : {}), content: `@${'x'.repeat(1000 / partCount - 16)}` },
        logprobs: { content: ids.map(logprob) },
        finish_reason: isLast ? 'stop' : null,
        token_ids: ids,
      },
    ],
  };
  const end = `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`;
  return `data: ${JSON.stringify(chunk)}\n\n${isLast ? end : ''}`;
}

const parts = Array.from({ length: partCount }, (_, index) => part(index));

/** Of all processes of the machine the same clock, in nanoseconds. */
function stamped(text: string): string {
  return text.replace('@', `@${process.hrtime.bigint()};`);
}

function stream(response: ServerResponse, paceMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (paceMs === 0) {
    response.end(stamped(parts[0] ?? '') + parts.slice(1).join(''));
    return;
  }
  let next = 0;
  const timer = setInterval(() => {
    response.write(stamped(parts[next++] ?? ''));
    if (next < parts.length) return;
    clearInterval(timer);
    response.end();
  }, paceMs);
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  let body = '';
  request.setEncoding('latin1').on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length }).end(whole);
      return;
    }
    stream(response, Number(/"pace_ms":(\d+)/.exec(body)?.[1] ?? 0));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 });
});
// Also when the parent has gone without a word.
process.on('disconnect', () => process.exit(0));
process.on('message', () => process.exit(0));
