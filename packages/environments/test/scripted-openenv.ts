import { once } from 'node:events';
import { createServer } from 'node:http';
import type { JsonObject, JsonValue } from '@agentlightning/core';
import { type WebSocket, WebSocketServer } from 'ws';

/** A message of a client. */
export type ClientMessage = Readonly<Record<string, JsonValue>>;

/** What a scripted server does instead of the protocol: closes the session, stays silent, or sends a text. */
export type Deviation = 'close' | 'silence' | { readonly raw: string };

/** The script of a server. */
export interface OpenEnvScript {
  /** The JSON schema of actions, or the response of `/schema` to send instead. @default one required text */
  readonly schema?: JsonObject | { readonly status: number; readonly text: string };
  /** The largest number of sessions. @default no limit */
  readonly sessions?: number;
  /** The response to a step, or how it deviates. @default an observation with what the action says */
  readonly step?: (action: JsonObject) => JsonObject | Deviation;
}

/** A scripted OpenEnv server. */
export interface ScriptedOpenEnv extends AsyncDisposable {
  readonly url: string;
  /** The messages of all sessions. */
  readonly messages: readonly ClientMessage[];
  /** The headers of the last session. */
  readonly headers: () => NodeJS.Dict<string | string[]>;
}

const oneText = {
  type: 'object',
  description: 'Says a text.',
  properties: { metadata: { type: 'object' }, text: { type: 'string' } },
  required: ['text'],
};

/** Starts a server of OpenEnv's protocol without Python. Like the real one, it refuses messages with other fields. */
export async function startScriptedOpenEnv(script: OpenEnvScript = {}): Promise<ScriptedOpenEnv> {
  const { schema = oneText, sessions = Number.POSITIVE_INFINITY } = script;
  const messages: ClientMessage[] = [];
  let headers: NodeJS.Dict<string | string[]> = {};
  const server = createServer(({ url }, response) => {
    if (url !== '/schema') response.writeHead(404).end('{"detail":"Not Found"}');
    else if ('status' in schema) response.writeHead(Number(schema['status'])).end(String(schema['text']));
    else response.end(JSON.stringify({ action: schema, observation: {}, state: {} }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new WebSocketServer({ server, path: '/ws' });
  sockets.on('connection', (socket, request) => {
    headers = request.headers;
    if (sockets.clients.size > sessions) {
      send(socket, failure('CAPACITY_REACHED', 'Server at capacity'));
      socket.close();
      return;
    }
    socket.on('message', (data) => {
      const received = JSON.parse(String(data)) as ClientMessage;
      messages.push(received);
      respond(socket, received, script);
    });
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    messages,
    headers: () => headers,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.close();
      await once(server, 'close');
    },
  };
}

function respond(socket: WebSocket, received: ClientMessage, { step = says }: OpenEnvScript): void {
  const response = responseTo(received, step);
  if (response === 'close') socket.close(1011, 'out of memory');
  else if (response !== 'silence') socket.send('raw' in response ? String(response['raw']) : JSON.stringify(response));
}

function responseTo(
  { type, data, ...others }: ClientMessage,
  step: NonNullable<OpenEnvScript['step']>,
): JsonObject | Deviation {
  const hasData = type === 'reset' || type === 'step' || type === 'mcp';
  if (Object.keys(others).length > 0 || hasData !== (data !== undefined))
    return invalid('Extra inputs are not permitted');
  switch (type) {
    case 'reset':
      return observed({ reply: 'Say it.' });
    case 'step':
      return step(data as JsonObject);
    case 'state':
      return { type: 'state', data: { episode_id: null, step_count: 0 } };
    case 'mcp':
      return { type: 'mcp', data: toolList };
    case 'close':
      return 'silence';
    default:
      return failure('UNKNOWN_TYPE', `Unknown message type: ${type}`);
  }
}

function says({ text }: JsonObject): JsonObject {
  return typeof text === 'string' ? observed({ reply: text }, 1, true) : invalid('Field required');
}

const toolList = {
  jsonrpc: '2.0',
  id: 1,
  result: { tools: [{ name: 'add', description: 'Adds.', inputSchema: { type: 'object', properties: {} } }] },
};

/** An observation, of which the server leaves out what is null. */
export function observed(observation: JsonObject, reward: JsonValue = null, done = false): JsonObject {
  return { type: 'observation', data: { observation: { ...observation, metadata: {} }, reward, done } };
}

/** An error response. */
export function failure(code: string, text: string): JsonObject {
  return { type: 'error', data: { message: text, code } };
}

function invalid(text: string): JsonObject {
  return { type: 'error', data: { message: 'Invalid message', code: 'VALIDATION_ERROR', errors: [{ msg: text }] } };
}

function send(socket: WebSocket, response: JsonObject): void {
  socket.send(JSON.stringify(response));
}
