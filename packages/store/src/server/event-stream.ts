import type { Context } from 'hono';

/** A server-sent event. */
export interface ServerEvent {
  /** The `Last-Event-ID` with which a client resumes after it. */
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

/** Options of an event stream. */
export interface EventStreamOptions {
  /** Heartbeat interval of an idle stream in milliseconds: proxies close idle connections. */
  readonly heartbeatMs: number;
  /** Called when the client disconnects or the stream ends. */
  readonly onEnd: () => void;
}

/**
 * Streams server-sent events with backpressure: the next event is read after the client has received the previous one,
 * so slow clients use bounded memory.
 */
export function eventStreamResponse(
  context: Context,
  events: AsyncGenerator<ServerEvent, void, undefined>,
  { heartbeatMs, onEnd }: EventStreamOptions,
): Response {
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<ServerEvent, void>> | null = null;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        next ??= events.next();
        const received = await withIdleTimeout(next, heartbeatMs);
        if (received === null) {
          controller.enqueue(encoder.encode(': still here\n\n'));
          return;
        }
        next = null;
        if (received.done === true) {
          controller.close();
          onEnd();
          return;
        }
        controller.enqueue(encoder.encode(textOf(received.value)));
      },
      cancel: onEnd,
    },
    { highWaterMark: 1 },
  );
  context.header('content-type', 'text/event-stream; charset=utf-8');
  context.header('cache-control', 'no-store');
  // Disables response buffering of proxies.
  context.header('x-accel-buffering', 'no');
  return context.body(body);
}

function textOf({ id, event, data }: ServerEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

async function withIdleTimeout<TResult>(result: Promise<TResult>, timeoutMs: number): Promise<TResult | null> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs);
  });
  try {
    return await Promise.race([result, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
