import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { ChatStream, chatErrorEvent } from './chat-stream.ts';
import { prepareRequest } from './prepared-request.ts';
import { visibleAnswer } from './visible-answer.ts';

/** Chat Completions, as OpenAI and nearly every engine have it. */
export const chatCompletionsApi: UpstreamApi = {
  path: '/chat/completions',
  prepare: prepareRequest,
  capture: (body, answer) => answer.add(body),
  visible: visibleAnswer,
  stream: (answer, added) => new ChatStream(answer, added),
  errorEvent: chatErrorEvent,
};
