import type { Context } from 'hono';

/** An event on its way to a client. */
export interface ServerEvent {
  /** What to send as `Last-Event-ID` to go on after it. */
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

/** How to stream events. */
export interface EventStreamOptions {
  /** How often something is sent while nothing happens, in milliseconds: proxies cut silent connections. */
  readonly heartbeatMs: number;
  /** Called when the client has gone or the stream is over. */
  readonly onEnd: () => void;
}

/**
 * Answers with server-sent events as they come. The next one is asked for when the client has taken those before, so
 * that a slow client holds back nobody and fills no memory.
 */
export function answerEvents(
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
        const happened = await unlessSilent(next, heartbeatMs);
        if (happened === null) {
          controller.enqueue(encoder.encode(': still here\n\n'));
          return;
        }
        next = null;
        if (happened.done === true) {
          controller.close();
          onEnd();
          return;
        }
        controller.enqueue(encoder.encode(textOf(happened.value)));
      },
      cancel: onEnd,
    },
    { highWaterMark: 1 },
  );
  context.header('content-type', 'text/event-stream; charset=utf-8');
  context.header('cache-control', 'no-store');
  // Proxies that collect answers before they pass them on are asked not to.
  context.header('x-accel-buffering', 'no');
  return context.body(body);
}

function textOf({ id, event, data }: ServerEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

async function unlessSilent<TResult>(result: Promise<TResult>, silenceMs: number): Promise<TResult | null> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), silenceMs);
  });
  try {
    return await Promise.race([result, silence]);
  } finally {
    clearTimeout(timer);
  }
}
