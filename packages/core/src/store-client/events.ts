import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Clock } from '../clock.ts';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { parse } from '../parse.ts';
import { changeFromWire, watchQueryToWire, wireChangeSchema } from '../protocol/wire-change.ts';
import type { StoreChange, WatchOptions } from '../store-change.ts';
import type { StoreTransport } from './transport.ts';

/** A server that is there says something every fifteen seconds; after this silence the connection is dead, in milliseconds. */
const longestSilenceMs = 45_000;

/** How long to wait before a stream that ended is asked for again, in milliseconds. */
const reconnectDelayMs = 250;

/** The media type of server-sent events. */
export const eventStreamType = 'text/event-stream';

/** Whether an answer is a stream of events. */
export function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith(eventStreamType) ?? false;
}

/** Reads the events of an answer until it ends, breaks off, or nothing is heard for too long. */
export async function* readEvents(response: Response): AsyncGenerator<EventSourceMessage, void, undefined> {
  if (response.body === null) return;
  const received: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => received.push(event) });
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await readOrGiveUp(reader);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* received.splice(0);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Watches a store over HTTP, and goes on after the last change that came when the connection is lost. */
export async function* watchOverHttp(
  { transport, clock }: { readonly transport: StoreTransport; readonly clock: Clock },
  options: WatchOptions,
): AsyncGenerator<StoreChange, void, undefined> {
  const { signal } = options;
  const path = `/events?${parametersOf(watchQueryToWire(options))}`;
  let lastId: string | null = null;
  while (!signal?.aborted) {
    try {
      const headers = { accept: eventStreamType, ...(lastId === null ? {} : { 'last-event-id': lastId }) };
      const response = await transport.open({ method: 'GET', path, headers, signal });
      for await (const { id, data } of readEvents(response)) {
        if (signal?.aborted) return;
        yield changeFromWire(parse(wireChangeSchema, JSON.parse(data), 'Event of the store'));
        lastId = id ?? lastId;
      }
    } catch (error) {
      if (signal?.aborted) return;
      // A server that cannot be reached, or refuses, was asked often enough; a stream that breaks off is asked for again.
      if (AgentLightningError.isInstance(error)) throw error;
    }
    await clock.sleep(reconnectDelayMs, signal).catch(() => undefined);
  }
}

function parametersOf(query: object): URLSearchParams {
  const entries = Object.entries(query).flatMap(([name, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)]),
  );
  return new URLSearchParams(entries);
}

type Chunk = { readonly done: boolean; readonly value?: Uint8Array | undefined };

async function readOrGiveUp(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Chunk> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<Chunk>((resolve) => {
    timer = setTimeout(() => resolve({ done: true }), longestSilenceMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
