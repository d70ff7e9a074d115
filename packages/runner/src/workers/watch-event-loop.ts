import { closeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** The data of the watching thread. */
export interface EventLoopWorkerData {
  /** Counts the heartbeats of the event loop. */
  readonly beats: Int32Array;
  /** The values of {@link BlockedLimits}, in their order. */
  readonly limits: Float64Array;
  readonly tickMs: number;
  /** The name of the symbol that the handler is registered with. */
  readonly handler: string;
  readonly parentPid: number | null;
  readonly pauseTimeoutMs: number;
  readonly nativeCode: NativeCodeMessage;
}

/** Report written before the process is killed because native code, which cannot be paused, blocks its event loop. */
export interface NativeCodeMessage {
  /** The file descriptor. */
  readonly fd: number;
  /** The message. */
  readonly message: string;
}

/** Options of an event loop watch. */
export interface EventLoopWatchOptions {
  /** The exit code of a process whose event loop is blocked. */
  readonly exitCode: number;
  /** Called in the asynchronous context of the blocking code, with its function and file, before the process exits. */
  readonly onBlocked: (where: string) => void;
  /** Announces native code. */
  readonly nativeCode: NativeCodeMessage;
  /** Time limit for pausing the blocking code, in milliseconds. @default 5000 */
  readonly pauseTimeoutMs?: number;
  /**
   * The parent of this process, which leads its process group: when the parent ends while the event loop is blocked, the
   * group is killed. @default null
   */
  readonly parentPid?: number | null;
}

/** When a blocked event loop ends the process. */
export interface BlockedLimits {
  /** Minimum duration of a block, in milliseconds. */
  readonly minBlockedMs: number;
  /** Until when it is tolerated, in Unix milliseconds. */
  readonly earliestMs: number;
  /** Duration of a block that is not tolerated at any time, in milliseconds. */
  readonly maxBlockedMs: number;
}

/** A watch over the event loop of this process. It tolerates a blocked event loop until limits are set. */
export interface EventLoopWatch {
  /** Changes the limits. */
  readonly setLimits: (limits: BlockedLimits) => void;
  /** Ends the watch. */
  readonly stop: () => Promise<void>;
}

/** The heartbeat interval of the event loop, in milliseconds. */
const tickMs = 100;

const handler = 'agentlightning.event-loop-blocked';

/**
 * Ends the process when its event loop is blocked beyond the limits, such as by an agent that computes without awaiting.
 * Blocking code in the same process cannot be stopped otherwise.
 */
export function watchEventLoop(options: EventLoopWatchOptions): EventLoopWatch {
  const { exitCode, onBlocked, nativeCode, parentPid = null, pauseTimeoutMs = 5000 } = options;
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const limits = new Float64Array(new SharedArrayBuffer(24)).fill(Number.POSITIVE_INFINITY);
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
  const workerData: EventLoopWorkerData = { beats, limits, tickMs, handler, parentPid, pauseTimeoutMs, nativeCode };
  const worker = new Worker(workerUrl(), { workerData });
  worker.unref();
  const beating = setInterval(() => Atomics.add(beats, 0, 1), tickMs).unref();
  return {
    setLimits: ({ minBlockedMs, earliestMs, maxBlockedMs }) => limits.set([minBlockedMs, earliestMs, maxBlockedMs]),
    stop: async () => {
      clearInterval(beating);
      delete holder[Symbol.for(handler)];
      await worker.terminate();
    },
  };
}

/** The worker is in the folder of this file, in the sources and in the bundle. */
function workerUrl(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./event-loop-worker.${extension}`, import.meta.url);
}
