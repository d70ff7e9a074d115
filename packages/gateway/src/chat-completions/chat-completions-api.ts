import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { ChatStream, chatErrorEvent } from './chat-stream.ts';
import { prepareRequest } from './prepared-request.ts';
import { visibleResponse } from './visible-response.ts';

/** The Chat Completions API. */
export const chatCompletionsApi: UpstreamApi = {
  path: '/chat/completions',
  prepare: prepareRequest,
  capture: (body, answer) => answer.add(body),
  visible: visibleResponse,
  stream: (answer, added) => new ChatStream(answer, added),
  errorEvent: chatErrorEvent,
};
