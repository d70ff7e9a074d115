import { once } from 'node:events';
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { type Store, systemClock } from '@agentlightning/core';
import { type OpenStoreOptions, openStore } from '../open-store.ts';
import { newThread, programBeside } from '../own-thread.ts';
import { isPostgres, sqlitePath } from '../store-location.ts';
import { AttemptReader } from './attempt-reader.ts';
import { type CarriedError, errorFromCarried } from './carried-error.ts';
import { LoneSpanWriter } from './lone-span-writer.ts';
import { ThreadStore, type ThreadStoreOptions } from './thread-store.ts';

/** What the thread works with. */
export interface StoreWorkerData {
  /** At whose other end it is asked. */
  readonly port: MessagePort;
  readonly location: string;
  readonly options: OpenStoreOptions;
}

/** The first word of the thread: how opening the store went. */
export interface StoreOpening {
  readonly failure: CarriedError | null;
}

/**
 * Opens a store as `openStore` does, in a thread of its own: for a process whose event loop is busy with other things,
 * such as model calls, so that it neither inserts nor commits there, but for spans that come alone while it is not that busy.
 * Everything else is the same: what is acknowledged is durable, and the store keeps the process alive only while somebody
 * waits for it. Those who watch it are told `unknown` now and then where spans came alone, as if another process had written.
 *
 * The store is opened in this thread where another is of no use, or cannot be had: a PostgreSQL database does its work
 * elsewhere anyway, a `clock` cannot be handed over, and a program that was bundled may be without the thread's.
 *
 * @throws AgentLightningError as `openStore`. When the thread ends by itself, what waits and all that is asked later
 * fails with UNREACHABLE
 * @example
 * ```ts
 * const store = await openStoreInThread('sqlite:./run/agl.db');
 * const gateway = await serveGateway({ store, upstream: { baseUrl: 'http://localhost:8000/v1' } });
 * ```
 */
export async function openStoreInThread(location: string, options: OpenStoreOptions = {}): Promise<Store> {
  return await openByProgram(programBeside(import.meta.url, 'store-worker'), location, options);
}

/** As {@link openStoreInThread}, with another program for the thread. */
export async function openByProgram(program: URL, location: string, options: OpenStoreOptions = {}): Promise<Store> {
  const isHere = isPostgres(location) || options.clock !== undefined;
  const started = isHere ? null : await startThread(program, location, options);
  return started ?? (await openStore(location, options));
}

/** Null when there is no thread to be had. */
async function startThread(program: URL, location: string, options: OpenStoreOptions): Promise<Store | null> {
  const { port1: port, port2 } = new MessageChannel();
  const worker = workerOf(program, { port: port2, location, options });
  if (worker === null) return null;
  let fault: Error | null = null;
  worker.on('error', (error: Error) => {
    fault = error;
  });
  const ended = new Promise<Error | null>((resolve) => worker.on('exit', () => resolve(fault)));
  const opening = once(port, 'message').then(([word]: StoreOpening[]) => word ?? null);
  const word = await Promise.race([opening, ended.then(() => null)]);
  // The port keeps the process alive from here on, as long as somebody waits.
  worker.unref();
  const line = { port, location, ended, holdUntilEnded: () => worker.ref() };
  if (word?.failure === null) return new ThreadStore({ ...line, ...connectionsOf(location, options) });
  port.close();
  if (word === null) return null;
  throw errorFromCarried(word.failure);
}

/** How long a store waits at least, in milliseconds, while somebody else writes: what this thread writes is not to fail it. */
const leastBusyTimeoutMs = 1000;

/** What reads and writes the file in this thread, where it can. */
function connectionsOf(
  location: string,
  { durability = 'process', maxSizeBytes = null, busyTimeoutMs = leastBusyTimeoutMs }: OpenStoreOptions,
): Pick<ThreadStoreOptions, 'reader' | 'loneSpans'> {
  const loneSpans = { path: sqlitePath(location), durability, maxSizeBytes, clock: systemClock };
  return {
    reader: AttemptReader.open(location),
    loneSpans: busyTimeoutMs < leastBusyTimeoutMs ? null : LoneSpanWriter.open(loneSpans),
  };
}

function workerOf(program: URL, workerData: StoreWorkerData): Worker | null {
  try {
    return newThread(program, { workerData, transferList: [workerData.port] });
  } catch {
    // A process may be forbidden to have threads.
    return null;
  }
}
