/** Callbacks for the events of a stream. They must not throw. */
export interface StreamTap<TPart> {
  /** Called with each part of the stream. */
  readonly take: (part: TPart) => void;
  /** The source failed. */
  readonly failed: (error: unknown) => void;
  /** The reader cancelled. */
  readonly cancelled: () => void;
  /** The stream was read completely. */
  readonly ended: () => void;
}

/**
 * The same stream, with its chunks reported to a tap.
 *
 * It is read at the pace of its reader and cancelled with it: a `tee` would keep the model generating to the end.
 */
export function tapStream<TPart>(stream: ReadableStream<TPart>, tap: StreamTap<TPart>): ReadableStream<TPart> {
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

/** The same response, with its bytes reported to a tap; see {@link tapStream}. Unchanged without a body. */
export function tapResponse(response: Response, tap: StreamTap<Uint8Array>): Response {
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  return withAddressOf(response, new Response(tapStream(response.body, tap), { status, statusText, headers }));
}

/** Constructed responses and their clones have no URL; it is copied. */
function withAddressOf(response: Response, same: Response): Response {
  for (const name of ['url', 'redirected', 'type'] as const) {
    Object.defineProperty(same, name, { value: response[name] });
  }
  const clone = (): Response => withAddressOf(response, Response.prototype.clone.call(same));
  return Object.defineProperty(same, 'clone', { value: clone });
}
