import type { RolloutMode } from '@agentlightning/core';
import type { AttemptDirectory } from './attempt-directory.ts';
import type { CallSignal } from './call-signal.ts';
import type { AttemptAddress } from './calling-attempt.ts';
import type { CallRecorder } from './capture/call-recorder.ts';
import type { SamplingOverrides } from './gateway-options.ts';
import type { HeaderReader } from './http/header-reader.ts';
import type { CallObservation } from './observe/call-observation.ts';
import type { ConversationMemory } from './responses/conversation-memory.ts';
import type { UpstreamCaller } from './upstream/call-upstream.ts';
import type { UpstreamPool } from './upstream/upstream-pool.ts';

/** What every kind of model call is answered with. */
export interface GatewayParts {
  readonly pool: UpstreamPool;
  readonly caller: UpstreamCaller;
  readonly directory: AttemptDirectory;
  readonly recorder: CallRecorder;
  readonly sampling: Partial<Readonly<Record<RolloutMode, SamplingOverrides>>>;
  /** What was answered to agents that speak Responses, where the gateway translates these. */
  readonly conversations: ConversationMemory;
}

/** A model call as it came in. */
export interface IncomingCall {
  /** Null when neither its address, its headers nor its key names one: such a call is passed on. */
  readonly attempt: AttemptAddress | null;
  /** All headers, for what is meant for the gateway. */
  readonly headers: HeaderReader;
  /** The few headers that go on to the upstream. */
  readonly forwardedHeaders: Readonly<Record<string, string>>;
  /** The body, not longer than allowed. */
  readonly text: string;
  /** Aborts when the caller has gone; and with a `GatewayError` as reason, which the caller is owed, when the gateway ends the call. */
  readonly signal: CallSignal;
  /** What is known of the call; those who learn more write it down here. */
  readonly observation: CallObservation;
  /** To be called once, when the call is answered and recorded. */
  readonly leave: () => void;
}
