import type { JsonObject } from '@agentlightning/core';
import { ResponseStandardizer } from '@agentlightning/core/internal';
import { notUnderstood } from '../wire/gateway-error.ts';
import { ChatStream, streamOfChat } from './chat-stream.ts';
import { prepareRequest } from './prepared-request.ts';
import type { UpstreamApi } from './upstream-api.ts';
import { visibleResponse } from './visible-response.ts';

/** The Chat Completions API. */
export const chatCompletionsApi: UpstreamApi = {
  path: '/chat/completions',
  prepare: prepareRequest,
  standard: standardResponse,
  capture: (body, captured) => captured.add(body),
  visible: visibleResponse,
  streamOfWhole: streamOfChat,
  stream: (captured, added) => new ChatStream(captured, added),
};

function standardResponse(body: JsonObject): JsonObject {
  const standard = new ResponseStandardizer(false);
  const response = standard.add(body);
  const problem = standard.problemAtEnd();
  if (problem !== null) throw notUnderstood(problem);
  return response;
}
