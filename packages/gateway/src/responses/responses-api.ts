import type { JsonObject } from '@agentlightning/core';
import type { ClientApi } from '../model-api/answer-model-call.ts';
import type { TranslatedStream, Translation } from '../model-api/translation.ts';
import { chatRequestOf, inputItems } from './chat-request.ts';
import { nativeResponses } from './native-responses.ts';
import { responseOf } from './response-body.ts';
import { ResponseEvents } from './response-events.ts';
import { responseId } from './response-ids.ts';

const translation: Translation = {
  begin: (request, scope) => {
    const items = scope.conversations.complete(request, inputItems(request), scope.key);
    const options = { request, stem: scope.stem };
    const remember = (response: JsonObject): JsonObject => {
      if (request.store !== false) scope.conversations.remember(scope, items, response.output);
      return response;
    };
    return {
      chatRequest: chatRequestOf(request, items),
      responseId: responseId(scope.stem),
      whole: (body) => remember(responseOf(body, options)),
      stream: () => streamOf(new ResponseEvents(options), remember),
    };
  },
  refusal: (status, words) => {
    const type = status === 429 ? 'rate_limit_error' : 'invalid_request_error';
    return JSON.stringify({ error: { message: words, type, param: null, code: null } });
  },
};

/** OpenAI's Responses. */
export const responsesApi: ClientApi = {
  name: 'responses',
  native: nativeResponses,
  translation: { api: 'responses', by: translation },
};

function streamOf(events: ResponseEvents, onEnd: (response: JsonObject) => void): TranslatedStream {
  return {
    take: (chunk) => events.take(chunk),
    ending: () => {
      const ending = events.ending();
      onEnd(events.response());
      return ending;
    },
    broken: (error) => events.broken(error.text),
  };
}
