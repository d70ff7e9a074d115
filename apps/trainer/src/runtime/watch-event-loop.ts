import { closeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** What the watching thread is started with. */
export interface EventLoopWorkerData {
  /** Counts the heartbeats of the event loop. */
  readonly beats: Int32Array;
  readonly deadlineMs: number;
  readonly tickMs: number;
  /** The name of the symbol that the handler is registered with. */
  readonly handler: string;
}

/** What is done about a blocked event loop, and when. */
export interface EventLoopWatchOptions {
  /** How long the event loop may be blocked, in milliseconds. */
  readonly deadlineMs: number;
  /** The exit code of a process whose event loop is blocked. */
  readonly exitCode: number;
  /** Called within the asynchronous context of the code that blocks, with its function and file. The process then ends. */
  readonly onBlocked: (where: string) => void;
}

/** How often the event loop shows that it runs, in milliseconds. */
const tickMs = 100;

const handler = 'agentlightning.event-loop-blocked';

/**
 * Ends the process when its event loop is blocked for longer than the deadline: by an agent that computes without
 * awaiting. Code in the same process cannot be stopped otherwise.
 *
 * @returns ends the watch
 */
export function watchEventLoop({ deadlineMs, exitCode, onBlocked }: EventLoopWatchOptions): () => Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const holder = globalThis as Record<symbol, unknown>;
  holder[Symbol.for(handler)] = (where: string): void => {
    try {
      onBlocked(where);
    } finally {
      // Node would print there that it waits for a debugger, which is the watching thread.
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

/** Beside this file in the sources, and beside its bundle in the package. */
function workerUrl(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./event-loop-worker.${extension}`, import.meta.url);
}
