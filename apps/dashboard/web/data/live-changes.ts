import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ChangeEvent, ClosingEvent } from '../../src/api/store-views.ts';

/** State of the event stream. */
export type ConnectionState = 'connecting' | 'live' | 'lost';

/** The event stream. */
export interface Connection {
  readonly state: ConnectionState;
  /** Why the server has ended; null when it did not announce its end. */
  readonly notice: string | null;
}

/** Silence of the stream above which the connection counts as lost, in milliseconds: three heartbeats. */
const silenceMs = 30_000;

/** Delay before a closed stream is opened again, in milliseconds. */
const retryMs = 2000;

/**
 * Keeps the queries current by the change events of the server, and reconnects a lost stream. The first event of a
 * stream reports unknown changes, so everything is read again after a reconnection.
 */
export function useLiveChanges(): Connection {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>({ state: 'connecting', notice: null });
  useEffect(() => openStream(client, setConnection), [client]);
  return connection;
}

function openStream(client: QueryClient, setConnection: (connection: Connection) => void): () => void {
  let source: EventSource | null = null;
  let notice: string | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waitThen = (delayMs: number, next: () => void): void => {
    clearTimeout(timer);
    timer = setTimeout(next, delayMs);
  };
  const lose = (): void => {
    source?.close();
    setConnection({ state: 'lost', notice });
    waitThen(retryMs, connect);
  };
  const connect = (): void => {
    source = new EventSource('/api/events');
    source.addEventListener('changes', (event: MessageEvent<string>) => {
      notice = null;
      setConnection({ state: 'live', notice });
      waitThen(silenceMs, lose);
      refresh(client, JSON.parse(event.data) as ChangeEvent);
    });
    source.addEventListener('heartbeat', () => waitThen(silenceMs, lose));
    source.addEventListener('closing', (event: MessageEvent<string>) => {
      ({ notice } = JSON.parse(event.data) as ClosingEvent);
      lose();
    });
    source.addEventListener('error', lose);
    waitThen(silenceMs, lose);
  };
  connect();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

/** Delay before a change is read again that arrived during a request, in milliseconds. */
const repeatMs = 1000;

function refresh(client: QueryClient, event: ChangeEvent): void {
  // A request in flight may not contain the change: it completes, and is repeated afterwards.
  if (client.isFetching() > 0) setTimeout(() => invalidate(client, event), repeatMs);
  else invalidate(client, event);
}

function invalidate(client: QueryClient, { runIds, rolloutIds, isUnknown }: ChangeEvent): void {
  const refetch = (queryKey: readonly string[]): void => {
    void client.invalidateQueries({ queryKey }, { cancelRefetch: false });
  };
  if (isUnknown) {
    for (const name of ['store', 'runs', 'run', 'rollouts', 'rollout', 'tokens', 'workers']) refetch([name]);
    return;
  }
  if (runIds.length > 0) refetch(['runs']);
  for (const runId of runIds) refetch(['run', runId]);
  if (rolloutIds.length > 0) refetch(['rollouts']);
  for (const rolloutId of rolloutIds) {
    refetch(['rollout', rolloutId]);
    refetch(['tokens', rolloutId]);
  }
}
