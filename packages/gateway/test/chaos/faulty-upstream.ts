import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { JsonValue } from '@agentlightning/core';
import { completionBody, completionChunk } from '../gateway-fixture.ts';
import { damaged } from './fuzz-value.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A model server with random responses. */
export interface FaultyUpstream extends AsyncDisposable {
  readonly baseUrl: string;
}

/** Starts a model server; with `random`, one that responds incorrectly. */
export async function startFaultyUpstream(random: SeededRandom | null): Promise<FaultyUpstream> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    request.on('end', () => respond(request, response, { text: Buffer.concat(parts).toString('utf8'), random }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { text, random }: { readonly text: string; readonly random: SeededRandom | null },
): void {
  const path = request.url ?? '';
  const isChat = path.endsWith('/chat/completions');
  if (random?.happens(0.6) === true) {
    badly(response, random);
  } else if (/\/(responses|messages)$/.test(path)) {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"no such route"}}');
  } else if (text.includes('"stream":true')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify(completionChunk())}\n\ndata: [DONE]\n\n`);
  } else {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isChat ? completionBody() : { object: 'list', data: [] }));
  }
}

/** Responds as a faulty or malicious engine. */
function badly(response: ServerResponse, random: SeededRandom): void {
  const body = completionBody() as JsonValue;
  const kind = random.below(8);
  if (kind === 0) {
    response.destroy();
  } else if (kind === 1) {
    response.writeHead(random.of([200, 400, 418, 500, 302, 204]), { location: 'http://169.254.169.254/' });
    response.end(random.of(['', '<html>', 'null', '[]', '"x"', '{"error":null}', '{"error":"words"}', '{']));
  } else if (kind <= 4) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(damaged(random, body, 0.1)));
  } else {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let event = 0; event < random.below(5); event += 1) {
      const data = JSON.stringify(damaged(random, completionChunk() as JsonValue, 0.1));
      response.write(
        random.of([
          `data: ${data}\n\n`,
          `event: x\ndata: ${data}\n\n`,
          ': c\n\n',
          'data: {\n\n',
          'data: [1]\n\n',
          '\u0000\n',
        ]),
      );
    }
    if (random.happens(0.3)) response.destroy();
    else response.end(random.happens(0.5) ? 'data: [DONE]\n\n' : '');
  }
}
