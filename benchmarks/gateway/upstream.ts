/**
 * A model server that responds at once, in a separate process: 1 kB of text, 200 prompt and 100 response token ids
 * with log-probabilities. Streams have 20 chunks, sent at once, or one every `pace_ms` milliseconds if the request
 * sets it; chunks contain the time of writing. Reports its port to its parent.
 *
 * @module
 */
import { createServer, type Socket } from 'node:net';

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

/** One chunk of a stream; `@` is the placeholder of the time of writing. */
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

/** Adds the time of writing, by the clock of the machine, in nanoseconds. */
function timestamped(text: string): string {
  return text.replace('@', `@${process.hrtime.bigint()};`);
}

const streamHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const wholeHead = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${whole.length}\r\n\r\n`;
const wholeResponse = Buffer.concat([Buffer.from(wholeHead), whole]);
const lastChunk = '0\r\n\r\n';

/** A chunk of a body with chunked encoding; ASCII only. */
function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function stream(socket: Socket, paceMs: number): void {
  if (paceMs === 0) {
    socket.write(streamHead + chunk(timestamped(parts[0] ?? '') + parts.slice(1).join('')) + lastChunk, 'latin1');
    return;
  }
  socket.write(streamHead, 'latin1');
  let next = 0;
  const timer = setInterval(() => {
    socket.write(chunk(timestamped(parts[next++] ?? '')), 'latin1');
    if (next < parts.length) return;
    clearInterval(timer);
    socket.write(lastChunk, 'latin1');
  }, paceMs);
  socket.once('close', () => clearInterval(timer));
}

/**
 * Parses only the required parts of requests: Node's HTTP server would take an eighth of the machine from the
 * measurement.
 */
function serve(socket: Socket): void {
  let text = '';
  socket.setNoDelay(true);
  socket.setEncoding('latin1');
  socket.on('error', () => socket.destroy());
  socket.on('data', (more: string) => {
    text += more;
    const bodyAt = text.indexOf('\r\n\r\n') + 4;
    if (bodyAt < 4) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, bodyAt))?.[1] ?? 0);
    if (text.length < bodyAt + length) return;
    const body = text.slice(bodyAt, bodyAt + length);
    text = text.slice(bodyAt + length);
    if (body.includes('"stream":true')) stream(socket, Number(/"pace_ms":(\d+)/.exec(body)?.[1] ?? 0));
    else socket.write(wholeResponse);
  });
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 });
});
// The parent may end without a message.
process.on('disconnect', () => process.exit(0));
process.on('message', () => process.exit(0));
