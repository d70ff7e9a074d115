import { AgentLightningError } from '@agentlightning/core';
import { backoffMs, systemClock } from '@agentlightning/core/internal';
import { type RunEvent, runEventSchema, serverRoutes } from '@agentlightning/core/protocol';
import { readEvents, type StoreTransport } from '@agentlightning/core/store-client';

const reconnect = { baseDelayMs: 200, maxDelayMs: 5000 };

/** The state of one event stream. */
interface StreamPosition {
  /** The number of the last event. */
  last: number;
  /** Connections in a row without an event. */
  failures: number;
}

/** Reads the events of a run until it has ended. A lost connection is opened again after the last event. */
export async function* readRunEvents(
  transport: StoreTransport,
  runId: string,
  { after, signal }: { readonly after: number; readonly signal: AbortSignal | undefined },
): AsyncGenerator<RunEvent> {
  const position: StreamPosition = { last: after, failures: 0 };
  while (!signal?.aborted) {
    try {
      for await (const event of readConnection(transport, { runId, position, signal })) {
        yield event;
        if (event.type === 'end') return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      // `open` has waited for the server as long as it may be unreachable.
      if (AgentLightningError.isInstance(error)) throw error;
    }
    position.failures += 1;
    await systemClock.sleep(backoffMs(reconnect, position.failures), signal).catch(() => undefined);
  }
}

async function* readConnection(
  transport: StoreTransport,
  stream: { readonly runId: string; readonly position: StreamPosition; readonly signal: AbortSignal | undefined },
): AsyncGenerator<RunEvent> {
  const { runId, position, signal } = stream;
  const response = await transport.open(serverRoutes.streamEvents, {
    parameters: [runId],
    headers: { accept: 'text/event-stream', 'last-event-id': String(position.last) },
    signal,
  });
  for await (const { id, data } of readEvents(response)) {
    position.failures = 0;
    if (id !== undefined) position.last = Number(id);
    const { data: event } = runEventSchema.safeParse(JSON.parse(data));
    // A newer server may have events that this client does not know.
    if (event !== undefined) yield event;
  }
}
