import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { ChatStream } from './chat-stream.ts';
import { prepareRequest } from './prepared-request.ts';
import { visibleResponse } from './visible-response.ts';

/** The Chat Completions API. */
export const chatCompletionsApi: UpstreamApi = {
  path: '/chat/completions',
  prepare: prepareRequest,
  capture: (body, captured) => captured.add(body),
  visible: visibleResponse,
  stream: (captured, added) => new ChatStream(captured, added),
};
