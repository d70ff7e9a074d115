/**
 * Agents run in worker processes, and a supervisor replaces those that end, hang or block.
 *
 * @module
 */

export type { RunnerStore } from '../runner-store.ts';
export { lastOutput, OutputTail } from './output-tail.ts';
export { serveWorker } from './serve-worker.ts';
export type { BlockedLimits, EventLoopWatch, EventLoopWatchOptions, NativeCodeMessage } from './watch-event-loop.ts';
export { watchEventLoop } from './watch-event-loop.ts';
export type { WorkerPoolOptions } from './worker-pool.ts';
export { WorkerPool } from './worker-pool.ts';
export type { WorkerProgram } from './worker-process.ts';
