import { answerChatCompletion } from '../chat-completions/answer-chat-completion.ts';
import type { GatewayError } from '../gateway-error.ts';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';

/** Answers a model call, and calls its `leave` when it is answered and recorded. */
export type AnswerCall = (parts: GatewayParts, call: IncomingCall) => Promise<Response>;

/** A model API that agents may speak. */
export interface ModelApi {
  /** What metrics and logs call it. */
  readonly name: string;
  /** Below a base URL. */
  readonly path: string;
  readonly answer: AnswerCall;
  /** How its clients are told what went wrong. @default in OpenAI's form */
  readonly refuse?: (error: GatewayError) => Response;
}

/** Every model API of the gateway: those that POST. */
export const modelApis: readonly ModelApi[] = [
  { name: 'chat-completions', path: '/chat/completions', answer: answerChatCompletion },
];

/** The answer to a request that failed, in the form of the API that its path names. */
export function refusal(path: string, error: GatewayError): Response {
  const api = modelApis.find((known) => path.endsWith(known.path));
  return api?.refuse?.(error) ?? error.toResponse();
}
