import type { RolloutMode, Store } from '@agentlightning/core';
import type { AttemptDirectory } from '../attempts/attempt-directory.ts';
import type { AttemptAddress } from '../attempts/calling-attempt.ts';
import type { CallRecorder } from '../capture/call-recorder.ts';
import type { GatewayMetrics } from '../capture/gateway-metrics.ts';
import type { UpstreamServices } from '../upstream/send-to-upstream.ts';
import type { UpstreamPool } from '../upstream/upstream-pool.ts';
import type { CallObservation } from '../wire/call-observation.ts';
import type { DeploymentRoutes, SamplingOverrides } from '../wire/gateway-options.ts';
import type { SampledArguments } from './sampled-arguments.ts';
import type { TokenContinuity } from './token-continuity.ts';
import type { ConversationMemory } from './translation.ts';

/** The dependencies of every model API. */
export interface ModelCallServices {
  readonly pool: UpstreamPool;
  readonly upstreamServices: UpstreamServices;
  readonly directory: AttemptDirectory;
  readonly recorder: CallRecorder;
  readonly metrics: Pick<GatewayMetrics, 'deploymentCalled'>;
  /** The deployments whose names are the models; null for a gateway of runs. */
  readonly deployments: DeploymentRoutes | null;
  /** Where deployments of other gateways are found. */
  readonly store: Pick<Store, 'getRun'>;
  readonly sampling: Partial<Readonly<Record<RolloutMode, SamplingOverrides>>>;
  /** The token ids of earlier turns. */
  readonly continuity: TokenContinuity;
  /** The arguments of earlier tool calls. */
  readonly sampledArguments: SampledArguments;
  /** Earlier responses of translated Responses calls. */
  readonly conversations: ConversationMemory;
}

/** A model call as the client sent it. */
export interface IncomingCall {
  /** Null when path, headers and key name no attempt: then the call is only forwarded. */
  readonly attempt: AttemptAddress | null;
  /** All request headers, including those for the gateway itself. */
  readonly headers: Headers;
  /** The request headers for the upstream. */
  readonly forwardedHeaders: Readonly<Record<string, string>>;
  /** The request body, within the size limit. */
  readonly text: string;
  /** Aborts when the client disconnects; with a `GatewayError` as reason when the gateway ends the call. */
  readonly signal: AbortSignal;
  /** Filled in while the call is proxied, for metrics and logs. */
  readonly observation: CallObservation;
}
