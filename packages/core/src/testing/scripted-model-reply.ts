import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../base/json.ts';
import { messageBody, messageErrorEvent, messageEvents } from './scripted-messages-body.ts';
import { completionBody, completionChunks, type PreparedResponse } from './scripted-model-response.ts';
import type { ScriptedApi, ScriptedResponse } from './scripted-model-step.ts';
import { responseBody, responseErrorEvent, responseEvents } from './scripted-responses-body.ts';

/** Form of the responses of an API. */
interface ResponseForm {
  readonly body: (prepared: PreparedResponse) => JsonObject;
  readonly events: (prepared: PreparedResponse) => readonly JsonObject[];
  readonly errorEvent: (before: readonly JsonObject[]) => JsonObject;
  /** Whether events also have their type outside of their data. */
  readonly hasEventNames: boolean;
}

const chatCompletions: ResponseForm = {
  body: completionBody,
  events: completionChunks,
  errorEvent: () => ({ error: { message: 'scripted stream error', code: 500 } }),
  hasEventNames: false,
};

const forms: Readonly<Record<ScriptedApi, ResponseForm>> = {
  'chat-completions': chatCompletions,
  embeddings: chatCompletions,
  responses: { body: responseBody, events: responseEvents, errorEvent: responseErrorEvent, hasEventNames: true },
  messages: { body: messageBody, events: messageEvents, errorEvent: messageErrorEvent, hasEventNames: true },
};

/** A prepared response. */
export interface ScriptedReply {
  readonly step: ScriptedResponse;
  readonly prepared: PreparedResponse;
  readonly api: ScriptedApi;
}

/** Sends a response as its step specifies: whole or in chunks, delayed, truncated, or with an error. */
export async function sendCompletion(response: ServerResponse, { step, prepared, api }: ScriptedReply): Promise<void> {
  const gone = new Promise((resolve) => response.once('close', resolve));
  const pause = (): Promise<unknown> => Promise.race([step.until, gone]);
  const form = forms[api];
  const { isStreamed } = prepared.call;
  if (step.until !== undefined && (!isStreamed || (step.pauseAfterChunks ?? 0) === 0)) await pause();
  if (step.cutAfterChunks === 0) {
    response.destroy();
    return;
  }
  if (!isStreamed) {
    sendJson(response, form.body(prepared));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const chunks = form.events(prepared);
  for (const [position, chunk] of chunks.entries()) {
    if (position > 0 && position === step.pauseAfterChunks) await pause();
    if (response.destroyed) return;
    if (position === step.errorAfterChunks) {
      response.end(eventText(form, form.errorEvent(chunks.slice(0, position))));
      return;
    }
    await written(response, eventText(form, chunk));
    if (position + 1 === step.cutAfterChunks) {
      response.destroy();
      return;
    }
  }
  response.end(form.hasEventNames ? '' : 'data: [DONE]\n\n');
}

/** Sends a JSON body. */
export function sendJson(response: ServerResponse, body: JsonObject): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** An error response. */
interface ErrorReply {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Type and code of errors of OpenAI. */
const openaiErrors: Readonly<Record<number, readonly [type: string, code: string | null]>> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  429: ['requests', 'rate_limit_exceeded'],
};

/** Types of errors of Anthropic. */
const anthropicErrors: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function errorBody({ status, message }: ErrorReply, api: ScriptedApi): JsonObject {
  if (api === 'messages') {
    const type = anthropicErrors[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
    return { type: 'error', error: { type, message } };
  }
  const [type, code] = openaiErrors[status] ?? [status < 500 ? 'invalid_request_error' : 'server_error', null];
  return { error: { message, type, param: null, code } };
}

/** Sends an error in the form of the API. */
export function sendError(response: ServerResponse, error: ErrorReply, api: ScriptedApi = 'chat-completions'): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response
    .writeHead(error.status, { 'content-type': 'application/json', ...error.headers })
    .end(JSON.stringify(errorBody(error, api)));
}

function eventText({ hasEventNames }: ResponseForm, event: JsonObject): string {
  const data = `data: ${JSON.stringify(event)}\n\n`;
  return hasEventNames ? `event: ${event.type}\n${data}` : data;
}

/** Resolves when the text is flushed, so that it is sent before a connection is closed. */
function written(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => {
    response.write(text, () => resolve());
  });
}
