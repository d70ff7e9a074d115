import type { JsonObject } from '@agentlightning/core';
import { modelCallAttributes } from '@agentlightning/core/internal';
import type { ClientApi } from '../model-api/proxy-model-call.ts';
import type { TranslatedStream, Translation } from '../model-api/translation.ts';
import { textOf } from '../wire/json-access.ts';
import { chatRequestOf, inputItems } from './chat-request.ts';
import { nativeResponses } from './native-responses.ts';
import { responseOf } from './response-body.ts';
import { ResponseEvents } from './response-events.ts';
import { responseId } from './response-ids.ts';
import { withAdditionalTools } from './tools.ts';

const translation: Translation = {
  begin: async (given, scope) => {
    const conversation = await scope.conversations.complete(given, inputItems(given), scope);
    const request = withAdditionalTools(given, conversation.items);
    const options = { request, stem: scope.stem };
    const isStored = request.store !== false;
    const remember = (response: JsonObject): JsonObject => {
      if (isStored) scope.conversations.remember(scope, conversation, response.output);
      return response;
    };
    const changes: string[] = [];
    return {
      chatRequest: chatRequestOf(request, conversation, changes),
      changes,
      responseId: responseId(scope.stem),
      attributes: isStored ? { [modelCallAttributes.instructionsLength]: instructionsLength(request) } : {},
      whole: (body) => remember(responseOf(body, options)),
      stream: () => streamOf(new ResponseEvents(options), remember),
    };
  },
  errorBody: (status, message) => {
    const type = status === 429 ? 'rate_limit_error' : 'invalid_request_error';
    return JSON.stringify({ error: { message, type, param: null, code: null } });
  },
};

/** OpenAI's Responses API. */
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

function instructionsLength({ instructions }: JsonObject): number {
  return textOf(instructions)?.length ?? 0;
}
