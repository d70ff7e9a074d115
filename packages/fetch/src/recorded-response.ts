import { readThroughResponse } from '@agentlightning/core/adapter';
import type { OpenModelCall } from './open-model-call.ts';

/** The same response, whose bytes are recorded as they pass by. */
export function recordedResponse(response: Response, call: OpenModelCall): Response {
  call.answered(response);
  if (response.body === null) call.ended();
  return readThroughResponse(response, {
    take: (bytes) => call.take(bytes),
    ended: () => call.ended(),
    cancelled: () => call.cancelled(),
    failed: (error) => call.finish(`the answer broke off: ${error instanceof Error ? error.message : String(error)}`),
  });
}
