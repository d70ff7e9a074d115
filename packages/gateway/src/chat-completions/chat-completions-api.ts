import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { ChatStream, chatErrorEvent } from './chat-stream.ts';
import { KnownForms } from './chunk-forms.ts';
import { prepareRequest } from './prepared-request.ts';
import { visibleAnswer } from './visible-answer.ts';

/** Chunks are alike from one answer to the next, and more so than engines are many. */
const knownForms = new KnownForms();

/** Chat Completions, as OpenAI and nearly every engine have it. */
export const chatCompletionsApi: UpstreamApi = {
  path: '/chat/completions',
  prepare: prepareRequest,
  capture: (body, answer) => answer.add(body),
  visible: visibleAnswer,
  stream: (answer, added) => new ChatStream(answer, added, knownForms),
  errorEvent: chatErrorEvent,
};
