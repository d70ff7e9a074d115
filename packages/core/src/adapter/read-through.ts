/** What is told of a stream as it is read. None of it may throw. */
export interface StreamTap<TPart> {
  readonly take: (part: TPart) => void;
  /** It was cut. */
  readonly failed: (error: unknown) => void;
  /** Its reader does not want more. */
  readonly cancelled: () => void;
  /** All of it was read. */
  readonly ended: () => void;
}

/**
 * The same stream, whose parts are looked at as they pass by.
 *
 * It is read only as fast as its reader reads, and left when its reader leaves: a copy of the stream (`tee`) would keep
 * the model generating to the end.
 */
export function readThrough<TPart>(stream: ReadableStream<TPart>, tap: StreamTap<TPart>): ReadableStream<TPart> {
  const reader = stream.getReader();
  return new ReadableStream<TPart>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            tap.ended();
            controller.close();
          } else {
            tap.take(value);
            controller.enqueue(value);
          }
        } catch (error) {
          tap.failed(error);
          throw error;
        }
      },
      cancel(reason) {
        tap.cancelled();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The same response, whose bytes are looked at as they pass by; see {@link readThrough}. One without a body is itself. */
export function readThroughResponse(response: Response, tap: StreamTap<Uint8Array>): Response {
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  return withAddressOf(response, new Response(readThrough(response.body, tap), { status, statusText, headers }));
}

/** A response that was made here has no address of its own, and neither have its copies. */
function withAddressOf(response: Response, same: Response): Response {
  for (const name of ['url', 'redirected', 'type'] as const) {
    Object.defineProperty(same, name, { value: response[name] });
  }
  const clone = (): Response => withAddressOf(response, Response.prototype.clone.call(same));
  return Object.defineProperty(same, 'clone', { value: clone });
}
