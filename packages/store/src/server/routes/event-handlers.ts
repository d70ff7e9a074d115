import { changeCodec, specialRoutes } from '@agentlightning/core/protocol';
import type { JournalReading } from '../../changes/change-journal.ts';
import { eventStreamResponse, type ServerEvent } from '../event-stream.ts';
import { setRequestAttributes } from '../observation/request-attributes.ts';
import { readInput } from '../request-input.ts';
import type { SpecialHandlers, StoreRouteOptions } from '../route-handler.ts';

/** Streams changes as server-sent events. */
export function eventHandlers({
  store,
  waits,
  heartbeatMs,
  untilClosed,
}: StoreRouteOptions): Pick<SpecialHandlers, 'watchChanges'> {
  return {
    watchChanges: async (context) => {
      const watch = await readInput(context, specialRoutes.watchChanges);
      setRequestAttributes(context, { isWait: true });
      const end = waits.begin('events');
      const gone = new AbortController();
      const signal = AbortSignal.any([untilClosed(context), gone.signal]);
      const reading = { ...watch, signal, after: context.req.header('last-event-id') ?? null };
      const onEnd = (): void => {
        end();
        gone.abort();
      };
      return eventStreamResponse(context, eventsOf(reading), { heartbeatMs, onEnd });
    },
  };

  async function* eventsOf(reading: JournalReading): AsyncGenerator<ServerEvent, void, undefined> {
    for await (const { id, change } of store.readChanges(reading)) {
      yield { id, event: change.kind, data: changeCodec.encode(change) };
    }
  }
}
