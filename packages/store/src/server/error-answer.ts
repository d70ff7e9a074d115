import { AgentLightningError } from '@agentlightning/core';
import { errorToWire, httpStatusOf } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import { RequestLimitError } from './limits/request-limit-error.ts';
import { MalformedRequestError } from './malformed-request-error.ts';
import { note, requestIdOf } from './observation/request-notes.ts';

/** Responds with an error and its remedy. Details of unexpected errors are not exposed. */
export function answerError(context: Context, error: unknown, onFault: (error: unknown) => void): Response {
  if (!AgentLightningError.isInstance(error)) {
    onFault(error);
    return errorResponse(context, opaqueError(requestIdOf(context)));
  }
  if (error.code === 'INTERNAL') onFault(error);
  return errorResponse(context, error);
}

function errorResponse(context: Context, error: AgentLightningError): Response {
  const status = statusOf(error);
  note(context, { errorCode: error.code });
  context.status(status as Parameters<typeof context.status>[0]);
  if (status === 401) context.header('www-authenticate', 'Bearer');
  if (status === 429) context.header('retry-after', '1');
  context.header('content-type', 'application/json');
  return context.body(JSON.stringify(errorToWire(error)));
}

/** The response to an unexpected error: the request id to look up in the server's log, without details. */
function opaqueError(requestId: string | null): AgentLightningError {
  const message = 'Internal server error';
  if (requestId === null) return new AgentLightningError({ code: 'INTERNAL', message });
  const remedy = `Report it with the log lines of request ${requestId}.`;
  return new AgentLightningError({ code: 'INTERNAL', message, remedy, details: { requestId } });
}

function statusOf(error: AgentLightningError): number {
  if (error instanceof RequestLimitError) return error.status;
  return error instanceof MalformedRequestError ? 422 : httpStatusOf(error.code);
}
