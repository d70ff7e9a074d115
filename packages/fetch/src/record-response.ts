import { tapResponse } from '@agentlightning/core/adapter';
import type { OpenModelCall } from './open-model-call.ts';

/** Wraps a response so that its bytes are recorded while the agent reads them. */
export function recordResponse(response: Response, call: OpenModelCall): Response {
  call.responseStarted(response);
  if (response.body === null) call.ended();
  return tapResponse(response, {
    take: (bytes) => call.take(bytes),
    ended: () => call.ended(),
    cancelled: () => call.cancelled(),
    failed: (error) =>
      call.finish(`the response was interrupted: ${error instanceof Error ? error.message : String(error)}`),
  });
}
