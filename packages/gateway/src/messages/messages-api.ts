import type { ClientApi } from '../model-api/proxy-model-call.ts';
import type { Translation } from '../model-api/translation.ts';
import { chatRequestOf } from './chat-request.ts';
import { messageId, messageOf } from './message-body.ts';
import { messageError } from './message-error.ts';
import { MessageEvents } from './message-events.ts';
import { nativeMessages } from './native-messages.ts';

const translation: Translation = {
  begin: async (request, { stem }) => {
    const options = { request, stem };
    const changes: string[] = [];
    return {
      chatRequest: chatRequestOf(request, changes),
      changes,
      responseId: messageId(stem),
      attributes: {},
      whole: (body) => messageOf(body, options),
      stream: () => {
        const events = new MessageEvents(options);
        return {
          take: (chunk) => events.take(chunk),
          ending: () => events.ending(),
          broken: (error) => [JSON.parse(messageError(error.httpStatus, error.text))],
        };
      },
    };
  },
  errorBody: messageError,
};

/** Anthropic's Messages API. */
export const messagesApi: ClientApi = {
  name: 'messages',
  native: nativeMessages,
  translation: { api: 'messages', by: translation },
};
