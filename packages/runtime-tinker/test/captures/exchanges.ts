import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { systemClock } from '@agentlightning/core/internal';
import { closeServer, listen } from '@agentlightning/core/protocol';
import { fromBinary, toJson } from '@bufbuild/protobuf';
import { ForwardBackwardRequestSchema } from '../../src/gen/agentlightning/tinker/v1/tinker_pb.ts';
import { protobufType } from '../../src/wire/tinker-http.ts';

/** A request: its body as JSON, also that of a binary message. */
export interface CapturedRequest {
  /** `POST asample`. */
  readonly route: string;
  readonly isBinary: boolean;
  readonly body: unknown;
}

/** A request of a client, and the response of a server. A binary body of a response is in Base64. */
export interface Exchange {
  readonly request: CapturedRequest;
  readonly response: { readonly status: number; readonly isBinary: boolean; readonly body: unknown };
}

/** A listening server. */
export interface CaptureServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Requests that depend on time, and those of the SDK beside the protocol. */
const unrecorded: ReadonlySet<string> = new Set(['POST session_heartbeat', 'POST telemetry']);

/** Passes requests on to a server, and records them with the responses, without polls of unfinished results. */
export async function startRecorder(target: string, onExchange: (exchange: Exchange) => void): Promise<CaptureServer> {
  return await serve(async (request, body, response) => {
    const { accept, 'content-type': type, 'x-api-key': key = '' } = request.headers;
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? '',
      headers: {
        'x-api-key': String(key),
        ...(accept === undefined ? {} : { accept }),
        ...(type === undefined ? {} : { 'content-type': type }),
      },
      ...(body.length === 0 ? {} : { body }),
    });
    const content = new Uint8Array(await answer.arrayBuffer());
    const isBinary = answer.headers.get('content-type')?.includes('protobuf') ?? false;
    const exchange: Exchange = {
      request: requestOf(request, body),
      response: {
        status: answer.status,
        isBinary,
        body: isBinary ? Buffer.from(content).toString('base64') : jsonOf(content),
      },
    };
    if (!unrecorded.has(exchange.request.route) && !isUnfinished(exchange)) onExchange(exchange);
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
    response.end(content);
  });
}

/** Returns the recorded responses to the recorded requests, in their order. Another request is refused and a problem. */
export async function startReplay(
  exchanges: readonly Exchange[],
  onProblem: (found: CapturedRequest, expected: CapturedRequest | undefined) => void,
): Promise<CaptureServer & { readonly remaining: () => number }> {
  const rest = [...exchanges];
  const server = await serve(async (request, body, response) => {
    const found = requestOf(request, body);
    const next = unrecorded.has(found.route) ? undefined : rest.shift();
    if (unrecorded.has(found.route)) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    } else if (next === undefined || JSON.stringify(found) !== JSON.stringify(next.request)) {
      onProblem(found, next?.request);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"not the recorded request"}');
    } else {
      const { status, isBinary, body: recorded } = next.response;
      response.writeHead(status, { 'content-type': isBinary ? protobufType : 'application/json' });
      response.end(isBinary ? Buffer.from(String(recorded), 'base64') : JSON.stringify(recorded));
    }
  });
  return { ...server, remaining: () => rest.length };
}

async function serve(
  respond: (request: IncomingMessage, body: Uint8Array<ArrayBuffer>, response: ServerResponse) => Promise<void>,
): Promise<CaptureServer> {
  const server = createServer((request, response) => {
    const parts: Uint8Array[] = [];
    request.on('data', (part: Uint8Array) => parts.push(part));
    request.on('end', () => {
      respond(request, new Uint8Array(Buffer.concat(parts)), response).catch(() => response.destroy());
    });
  });
  const port = await listen(server, 'the captures', { host: '127.0.0.1', port: 0 });
  return { url: `http://127.0.0.1:${port}`, close: () => closeServer(server, 100, systemClock) };
}

function requestOf({ method, url = '', headers }: IncomingMessage, body: Uint8Array): CapturedRequest {
  const isBinary = headers['content-type'] === protobufType;
  return {
    route: `${method} ${url.replace('/api/v1/', '')}`,
    isBinary,
    body: isBinary
      ? toJson(ForwardBackwardRequestSchema, fromBinary(ForwardBackwardRequestSchema, body))
      : jsonOf(body),
  };
}

function jsonOf(body: Uint8Array): unknown {
  const text = Buffer.from(body).toString();
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isUnfinished({ request, response }: Exchange): boolean {
  const { type } = (response.body ?? {}) as { readonly type?: unknown };
  return request.route === 'POST retrieve_future' && (response.status === 408 || type === 'try_again');
}
