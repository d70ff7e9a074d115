import type { AttemptTokenRequest } from '@agentlightning/core/protocol';
import * as z from 'zod';
import type { RunnerStore } from '../runner-store.ts';
import { type IpcError, ipcErrorSchema } from './ipc-error.ts';

/** The requests of a worker process to its supervisor: store operations, and the creation of attempt tokens. */
export interface SupervisorCalls extends Omit<RunnerStore, 'updateWorker'> {
  createAttemptToken(request: AttemptTokenRequest): Promise<string>;
}

/** The name of a request of a worker process. */
export type SupervisorMethod = keyof SupervisorCalls;

const methods = [
  'claimRollouts',
  'getRollout',
  'updateRollout',
  'getLatestAttempt',
  'updateAttempt',
  'getResources',
  'getLatestResources',
  'querySpans',
  'appendSpans',
  'createAttemptToken',
] as const satisfies readonly SupervisorMethod[];

/** The settings of a worker process. */
export interface WorkerSettings {
  /** The number of concurrent rollouts. */
  readonly concurrency: number;
  /** Only rollouts of this run; null for any. */
  readonly runId: string | null;
  /** Whether attempts have tokens. */
  readonly hasAttemptTokens: boolean;
  /** The URL of the gateway that replaces the one of the endpoints; null for none. */
  readonly gatewayUrl: string | null;
}

/** A message of the supervisor to a worker process. */
export type SupervisorMessage =
  | { readonly type: 'start'; readonly settings: WorkerSettings }
  /** Claims nothing more, and waits for running attempts at most this long, in milliseconds. */
  | { readonly type: 'stop'; readonly graceMs: number }
  | { readonly type: 'result'; readonly id: number; readonly value: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: IpcError };

/** A message of a worker process to the supervisor. */
export type WorkerMessage =
  /** The agent is loaded. */
  | { readonly type: 'loaded' }
  /** The event loop is alive; with the resident memory of the process, in bytes. */
  | { readonly type: 'beat'; readonly memoryBytes: number }
  | {
      readonly type: 'call';
      readonly id: number;
      readonly method: SupervisorMethod;
      readonly args: readonly unknown[];
    }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'attempt-ended'; readonly attemptId: string }
  /** An agent still runs, although its attempt has ended. */
  | { readonly type: 'stuck'; readonly rolloutId: string }
  /** An error outside an attempt's outcome; a fatal one ends the worker. */
  | { readonly type: 'error'; readonly error: IpcError; readonly isFatal: boolean };

const id = z.int().min(1);

/** Checks a message of a worker process, whose agent may send other messages. */
export const workerMessageSchema: z.ZodType<WorkerMessage> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('loaded') }),
  z.object({ type: z.literal('beat'), memoryBytes: z.number() }),
  z.object({ type: z.literal('call'), id, method: z.enum(methods), args: z.array(z.unknown()) }),
  z.object({ type: z.literal('cancel'), id }),
  z.object({ type: z.literal('attempt-ended'), attemptId: z.string() }),
  z.object({ type: z.literal('stuck'), rolloutId: z.string() }),
  z.object({ type: z.literal('error'), error: ipcErrorSchema, isFatal: z.boolean() }),
]);

/** Report that a worker process writes synchronously before it ends. */
export interface ExitReport {
  readonly cause: 'exit' | 'exception' | 'blocked';
  /** The exception, or the code that blocks the event loop. */
  readonly detail: string;
  /** The attempt whose code ended the process; null for code outside of rollouts. */
  readonly attemptId: string | null;
}

/** Checks {@link ExitReport}. */
export const exitReportSchema: z.ZodType<ExitReport> = z.object({
  cause: z.enum(['exit', 'exception', 'blocked']),
  detail: z.string(),
  attemptId: z.string().nullable(),
});

/** The file descriptor of {@link ExitReport} in a worker process; 3 is the IPC channel. */
export const exitReportFd = 4;
