import type { IncomingMessage } from 'node:http';
import type { JsonObject } from '../base/json.ts';
import { parseObject } from '../base/json-access.ts';
import { readEmbeddingsRequest, type ScriptedEmbeddingsCall } from './scripted-embeddings.ts';
import { readMessagesRequest } from './scripted-messages-request.ts';
import { readRequest, type ScriptedCall } from './scripted-model-request.ts';
import type { ScriptedApi, ScriptedRequest } from './scripted-model-step.ts';
import { readResponsesRequest } from './scripted-responses-request.ts';

/** A valid request. */
export interface AcceptedRequest {
  readonly type: 'accepted';
  readonly request: Omit<ScriptedRequest, 'index'>;
  readonly call: ScriptedCall;
  /** Null except for embeddings requests. */
  readonly embeddings: ScriptedEmbeddingsCall | null;
}

/** A classified request: one that consumes a step, one for the model list, or one that a real server rejects. */
export type RoutedRequest =
  | AcceptedRequest
  | { readonly type: 'models' }
  | { readonly type: 'refusal'; readonly status: number; readonly message: string; readonly api?: ScriptedApi };

const apis: readonly (readonly [path: string, api: ScriptedApi])[] = [
  ['/chat/completions', 'chat-completions'],
  ['/responses', 'responses'],
  ['/messages', 'messages'],
  ['/embeddings', 'embeddings'],
];

/** The call of a request without messages. */
const noCall: Omit<ScriptedCall, 'model'> = {
  messages: [],
  isStreamed: false,
  includeUsage: false,
  maxTokens: 0,
  choices: 0,
  logprobs: false,
  returnTokenIds: false,
};

/** Classifies a request as strictly as a real server. */
export function readScriptedRequest(incoming: IncomingMessage, text: string): RoutedRequest {
  const path = incoming.url ?? '/';
  const plainPath = path.replace(/\?.*$/, '');
  if (incoming.method === 'GET' && plainPath.endsWith('/models')) return { type: 'models' };
  const api = apis.find(([ending]) => plainPath.endsWith(ending))?.[1];
  if (api === undefined) return { type: 'refusal', status: 404, message: `Unknown path ${path}` };
  if (incoming.method !== 'POST') {
    return { type: 'refusal', status: 405, message: `Method ${incoming.method} not allowed`, api };
  }
  const body = parseObject(text);
  if (body === null) return { type: 'refusal', status: 400, message: 'Invalid JSON', api };
  const read = readBody(api, body);
  if ('problem' in read) return { type: 'refusal', status: 400, message: read.problem, api };
  const { call, embeddings } = read;
  const request = { api, path, headers: plainHeaders(incoming), body, messages: call.messages };
  return { type: 'accepted', request, call, embeddings };
}

const readers = {
  'chat-completions': readRequest,
  responses: readResponsesRequest,
  messages: readMessagesRequest,
} as const;

type ReadBody = Pick<AcceptedRequest, 'call' | 'embeddings'> | { readonly problem: string };

function readBody(api: ScriptedApi, body: JsonObject): ReadBody {
  if (api === 'embeddings') {
    const embeddings = readEmbeddingsRequest(body);
    return 'problem' in embeddings ? embeddings : { call: { ...noCall, model: embeddings.model }, embeddings };
  }
  const call = readers[api](body);
  return 'problem' in call ? call : { call, embeddings: null };
}

/** Reads the body of a request. */
export async function readText(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

function plainHeaders(incoming: IncomingMessage): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}
