import type { RolloutMode } from '@agentlightning/core';
import type { AttemptDirectory } from './attempt-directory.ts';
import type { CallRecorder } from './capture/call-recorder.ts';
import type { SamplingOverrides } from './gateway-options.ts';
import type { UpstreamCaller } from './upstream/call-upstream.ts';
import type { UpstreamPool } from './upstream/upstream-pool.ts';

/** What every kind of model call is answered with. */
export interface GatewayParts {
  readonly pool: UpstreamPool;
  readonly caller: UpstreamCaller;
  readonly directory: AttemptDirectory;
  readonly recorder: CallRecorder;
  readonly sampling: Partial<Readonly<Record<RolloutMode, SamplingOverrides>>>;
}

/** A model call as it came in. */
export interface IncomingCall {
  /** The attempt that its address names; null when it names none: such a call is passed on and not recorded. */
  readonly attempt: { readonly rolloutId: string; readonly attemptId: string } | null;
  readonly headers: Headers;
  /** The body, not longer than allowed. */
  readonly text: string;
  /** Aborts when the caller has gone. */
  readonly signal: AbortSignal;
  /** To be called once, when the call is answered and recorded. */
  readonly leave: () => void;
}
