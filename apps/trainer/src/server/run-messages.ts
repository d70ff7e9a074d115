import type { JsonObject } from '@agentlightning/core';
import type { Upstream } from '@agentlightning/gateway';
import type { RunSettings } from './run-config.ts';

/** A message of the server to the process of a run. */
export type ServerMessage =
  | { readonly type: 'start'; readonly runId: string; readonly settings: RunSettings }
  | { readonly type: 'stop' }
  | { readonly type: 'registered' };

/** A message of the process of a run to the server. */
export type RunMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'event'; readonly event: JsonObject }
  | { readonly type: 'upstreams'; readonly upstreams: readonly Upstream[] }
  | { readonly type: 'ended'; readonly error: RunError | null };

/** The error that ended a run. */
export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
}
