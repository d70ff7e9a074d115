import { chatCompletionsApi } from '../chat-completions/chat-completions-api.ts';
import { completionsApi } from '../completions/completions-api.ts';
import type { GatewayError } from '../gateway-error.ts';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';
import { answerCountTokens } from '../messages/answer-count-tokens.ts';
import { messageErrorBody } from '../messages/message-error.ts';
import { messagesApi } from '../messages/messages-api.ts';
import { answerModelCall, type ClientApi } from '../model-api/answer-model-call.ts';
import { answerEmbeddings } from '../passed-through/answer-embeddings.ts';
import { responsesApi } from '../responses/responses-api.ts';
import type { CallAnswer } from './call-answer.ts';

/** Answers a model call, and calls its `leave` when it is answered and recorded. */
export type AnswerCall = (parts: GatewayParts, call: IncomingCall) => Promise<CallAnswer>;

/** A model API that agents may speak. */
export interface ModelApi {
  /** What metrics and logs call it. */
  readonly name: string;
  /** Below a base URL. */
  readonly path: string;
  /** Where it answers too. @default nowhere */
  readonly otherPaths?: readonly string[];
  readonly answer: AnswerCall;
  /** The body that tells its clients what went wrong. @default in OpenAI's form */
  readonly refuse?: (error: GatewayError) => string;
}

/** Every model API of the gateway: those that POST. */
export const modelApis: readonly ModelApi[] = [
  modelApi({ name: 'chat-completions', native: chatCompletionsApi, translation: null }),
  modelApi({ name: 'completions', native: completionsApi, translation: null }),
  modelApi(responsesApi),
  // Anthropic's clients add /v1 to their base URL, and that of an attempt ends with it already.
  { ...modelApi(messagesApi), otherPaths: ['/v1/messages'], refuse: messageErrorBody },
  {
    name: 'count-tokens',
    path: '/messages/count_tokens',
    otherPaths: ['/v1/messages/count_tokens'],
    answer: answerCountTokens,
    refuse: messageErrorBody,
  },
  { name: 'embeddings', path: '/embeddings', answer: answerEmbeddings },
];

function modelApi(api: ClientApi): ModelApi {
  return { name: api.name, path: api.native.path, answer: (parts, call) => answerModelCall(api, parts, call) };
}

/** The answer to a request that failed, in the form of the API that its path names. */
export function refusal(path: string, error: GatewayError): CallAnswer & { readonly body: string } {
  const api = modelApis.find((known) => path.endsWith(known.path));
  const headers = { 'content-type': 'application/json', ...error.headers };
  return { status: error.httpStatus, headers, body: api?.refuse?.(error) ?? error.toBody() };
}
