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

/** Sends an error in the form of the API. */
export function sendError(
  response: ServerResponse,
  error: { readonly status: number; readonly message: string; readonly headers?: Readonly<Record<string, string>> },
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const type = error.status < 500 ? 'invalid_request_error' : 'server_error';
  response
    .writeHead(error.status, { 'content-type': 'application/json', ...error.headers })
    .end(JSON.stringify({ error: { message: error.message, type, param: null, code: null } }));
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
