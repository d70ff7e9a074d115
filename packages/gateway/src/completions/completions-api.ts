import type { JsonObject } from '@agentlightning/core';
import { ChatStream } from '../chat-completions/chat-stream.ts';
import {
  type AddedFields,
  type PreparedRequest,
  type PrepareOptions,
  prepareRequest,
} from '../chat-completions/prepared-request.ts';
import { visibleResponse } from '../chat-completions/visible-response.ts';
import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { chatTokens } from './chat-tokens.ts';
import { StreamedCompletion } from './streamed-completion.ts';

/** The Completions API: a chat engine with a raw prompt instead of messages. */
export const completionsApi: UpstreamApi = {
  path: '/completions',
  prepare: prepareCompletion,
  capture: (body, captured) => captured.add(chatTokens(body)),
  visible: visibleResponse,
  stream: (captured, added) => new ChatStream(captured, added, { chatTokens, body: new StreamedCompletion() }),
};

/** In Completions, `logprobs` is a number: how many alternatives to return for each token. */
function prepareCompletion(request: JsonObject, options: PrepareOptions): PreparedRequest {
  const prepared = prepareRequest(request, options);
  const isOwn = typeof request.logprobs === 'number';
  const added: AddedFields = { ...prepared.added, logprobs: prepared.added.logprobs && !isOwn };
  const logprobs = added.logprobs ? 1 : (request.logprobs ?? null);
  const inBody = (body: JsonObject): string => JSON.stringify(logprobs === null ? body : { ...body, logprobs });
  return { ...prepared, added, body: inBody(JSON.parse(prepared.body)) };
}
