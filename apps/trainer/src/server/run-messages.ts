import { AgentLightningError, type ErrorCode } from '@agentlightning/core';
import { withoutPasswords } from '@agentlightning/core/internal';
import type { TrainingEvent } from '@agentlightning/core/protocol';
import type { Upstream } from '@agentlightning/gateway';
import type { RunSettings } from './run-config.ts';

/** A message of the server to the process of a run. */
export type ServerMessage =
  | { readonly type: 'start'; readonly runId: string; readonly settings: RunSettings }
  | { readonly type: 'stop' }
  | { readonly type: 'registered'; readonly error: RunError | null };

/** A message of the process of a run to the server. */
export type RunMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'event'; readonly event: TrainingEvent }
  | { readonly type: 'upstreams'; readonly upstreams: readonly Upstream[] }
  | { readonly type: 'ended'; readonly error: RunError | null };

/** The error that ended a run. */
export interface RunError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy: string;
}

/** The error of a run that an exception caused. */
export function runErrorOf(cause: unknown): RunError {
  const error = AgentLightningError.isInstance(cause)
    ? cause
    : new AgentLightningError({ code: 'INTERNAL', message: String(cause), cause });
  const message = withoutPasswords(error.message.replace(/^\[\w+\] /, ''));
  return { code: error.code, message, remedy: withoutPasswords(error.remedy) };
}
