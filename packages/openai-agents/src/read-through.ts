/** Who looks at the bytes of an answer as they pass by. */
export interface ByteListener {
  take(chunk: Uint8Array): void;
  ended(): void;
}

/** Answers that are looked at already: a client's own fetch and the global one may both be ours. */
const lookedAt = new WeakSet<Response>();

/**
 * The same response, whose bytes are looked at as they pass by. It reads from the model only as fast as the agent reads,
 * and an agent that stops reading stops the model.
 */
export function readThrough(response: Response, listener: ByteListener): Response {
  if (response.body === null || lookedAt.has(response)) return response;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await reader.read();
        if (done) {
          listener.ended();
          controller.close();
        } else {
          listener.take(value);
          controller.enqueue(value);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  const same = new Response(body, { status, statusText, headers });
  // A response that was made here has no address of its own.
  for (const name of ['url', 'redirected', 'type'] as const) {
    Object.defineProperty(same, name, { value: response[name] });
  }
  lookedAt.add(same);
  return same;
}
