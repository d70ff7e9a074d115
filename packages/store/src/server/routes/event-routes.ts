import { changeToWire, watchQueryFromWire, wireWatchQuerySchema } from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import type { JournalReading } from '../../change-journal.ts';
import { answerEvents, type ServerEvent } from '../event-stream.ts';
import { note } from '../observation/request-notes.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Changes as server-sent events, an extension of the Agent Lightning 0.3 protocol. */
export function addEventRoutes(app: Hono, { store, waits, heartbeatMs, untilClosed }: StoreRouteOptions): void {
  app.get('/events', (context) => {
    const watch = watchQueryFromWire(readParameters(context, wireWatchQuerySchema));
    note(context, { isWait: true });
    const end = waits.begin('events');
    const gone = new AbortController();
    const signal = AbortSignal.any([untilClosed(context), gone.signal]);
    const reading = { ...watch, signal, after: context.req.header('last-event-id') ?? null };
    const onEnd = (): void => {
      end();
      gone.abort();
    };
    return answerEvents(context, eventsOf(reading), { heartbeatMs, onEnd });
  });

  async function* eventsOf(reading: JournalReading): AsyncGenerator<ServerEvent, void, undefined> {
    for await (const { id, change } of store.readChanges(reading)) {
      yield { id, event: change.kind, data: changeToWire(change) };
    }
  }
}
