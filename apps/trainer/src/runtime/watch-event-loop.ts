import { closeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** The data of the watching thread. */
export interface EventLoopWorkerData {
  /** Counts the heartbeats of the event loop. */
  readonly beats: Int32Array;
  readonly deadlineMs: number;
  readonly tickMs: number;
  /** The name of the symbol that the handler is registered with. */
  readonly handler: string;
}

/** Options of an event loop watch. */
export interface EventLoopWatchOptions {
  /** Time limit for a blocked event loop, in milliseconds. */
  readonly deadlineMs: number;
  /** The exit code of a process whose event loop is blocked. */
  readonly exitCode: number;
  /** Called in the asynchronous context of the blocking code, with its function and file, before the process exits. */
  readonly onBlocked: (where: string) => void;
}

/** The heartbeat interval of the event loop, in milliseconds. */
const tickMs = 100;

const handler = 'agentlightning.event-loop-blocked';

/**
 * Ends the process when its event loop is blocked for longer than the deadline, such as by an agent that computes without
 * awaiting. Blocking code in the same process cannot be stopped otherwise.
 *
 * @returns a function that ends the watch
 */
export function watchEventLoop({ deadlineMs, exitCode, onBlocked }: EventLoopWatchOptions): () => Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const holder = globalThis as Record<symbol, unknown>;
  holder[Symbol.for(handler)] = (where: string): void => {
    try {
      onBlocked(where);
    } finally {
      // Suppresses Node's message that it waits for a debugger, which is the watching thread.
      closeSync(2);
      process.exit(exitCode);
    }
  };
  const workerData: EventLoopWorkerData = { beats, deadlineMs, tickMs, handler };
  const worker = new Worker(workerUrl(), { workerData });
  worker.unref();
  const beating = setInterval(() => Atomics.add(beats, 0, 1), tickMs).unref();
  return async () => {
    clearInterval(beating);
    delete holder[Symbol.for(handler)];
    await worker.terminate();
  };
}

/** The worker is in the folder of this file, in the sources and in the bundle. */
function workerUrl(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./event-loop-worker.${extension}`, import.meta.url);
}
