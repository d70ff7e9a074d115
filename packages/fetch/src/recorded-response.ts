import type { OpenModelCall } from './open-model-call.ts';

/**
 * The same response, whose bytes are recorded as they pass by.
 *
 * It reads from the model only as fast as the agent reads, and an agent that stops reading stops the model:
 * a copy of the stream (`clone`, `tee`) would keep the model generating to the end.
 */
export function recordedResponse(response: Response, call: OpenModelCall): Response {
  call.answered(response);
  if (response.body === null) {
    call.ended();
    return response;
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await reader.read();
          if (done) {
            call.ended();
            controller.close();
          } else {
            call.take(value);
            controller.enqueue(value);
          }
        } catch (error) {
          call.finish(`the answer broke off: ${error instanceof Error ? error.message : String(error)}`);
          throw error;
        }
      },
      async cancel(reason) {
        call.cancelled();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  const recorded = new Response(body, { status, statusText, headers });
  // A response that was made here has no address of its own.
  for (const name of ['url', 'redirected', 'type'] as const) {
    Object.defineProperty(recorded, name, { value: response[name] });
  }
  return recorded;
}
