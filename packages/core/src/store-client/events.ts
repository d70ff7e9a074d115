import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import type { Clock } from '../base/clock.ts';
import { parse } from '../base/parse.ts';
import { specialRoutes } from '../protocol/routes/special-routes.ts';
import { changeCodec } from '../protocol/wire/wire-change.ts';
import type { StoreChange, WatchOptions } from '../store/store-change.ts';
import type { StoreTransport } from './transport.ts';

/** Read timeout of an event stream, in milliseconds. A live server sends at least every 15 seconds. */
const maxIdleMs = 45_000;

/** Delay before reconnecting an event stream, in milliseconds. */
const reconnectDelayMs = 250;

/** The media type of server-sent events. */
export const eventStreamType = 'text/event-stream';

/** Whether a response is an event stream. */
export function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith(eventStreamType) ?? false;
}

/** Reads the events of a response until it ends, fails, or exceeds the read timeout. */
export async function* readEvents(response: Response): AsyncGenerator<EventSourceMessage, void, undefined> {
  if (response.body === null) return;
  const received: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => received.push(event) });
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await readWithTimeout(reader);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* received.splice(0);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Watches a store over HTTP and resumes after the last received change on reconnect. */
export async function* watchOverHttp(
  { transport, clock }: { readonly transport: StoreTransport; readonly clock: Clock },
  options: WatchOptions,
): AsyncGenerator<StoreChange, void, undefined> {
  const { signal } = options;
  let lastId: string | null = null;
  while (!signal?.aborted) {
    try {
      const headers: Record<string, string> = {
        accept: eventStreamType,
        ...(lastId === null ? {} : { 'last-event-id': lastId }),
      };
      const response: Response = await transport.open(specialRoutes.watchChanges, { input: options, headers, signal });
      for await (const { id, data } of readEvents(response)) {
        if (signal?.aborted) return;
        yield parse(changeCodec, JSON.parse(data), 'Event of the store');
        lastId = id ?? lastId;
      }
    } catch (error) {
      if (signal?.aborted) return;
      // The transport has already retried an unreachable or rejecting server; an interrupted stream is reopened.
      if (AgentLightningError.isInstance(error)) throw error;
    }
    await clock.sleep(reconnectDelayMs, signal).catch(() => undefined);
  }
}

type Chunk = { readonly done: boolean; readonly value?: Uint8Array | undefined };

async function readWithTimeout(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Chunk> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<Chunk>((resolve) => {
    timer = setTimeout(() => resolve({ done: true }), maxIdleMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
