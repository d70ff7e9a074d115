import type { Clock } from '@agentlightning/core';
import type { CallOptions } from '@grpc/grpc-js';
import type { InferenceService } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import type { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import type { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import type { ServiceClient } from '../grpc/service-client.ts';
import type { CallPolicy } from './call-policy.ts';
import type { OperationStatus } from './operation-status.ts';

/** What everything of one connection shares. */
export interface RuntimeLink {
  readonly runtime: ServiceClient<(typeof RuntimeService)['method']>;
  readonly training: ServiceClient<(typeof TrainingService)['method']>;
  readonly inference: ServiceClient<(typeof InferenceService)['method']>;
  readonly sessionId: string;
  readonly policy: CallPolicy;
  readonly clock: Clock;
  /** How far ahead of the oldest unanswered operation the next may be sent. */
  readonly reorderWindow: number;
  /** Told of every operation that is new or has changed. */
  readonly onOperation: (status: OperationStatus) => void;
  /** Aborts when the connection is closed. */
  readonly signal: AbortSignal;
  /** Options of a call that should be answered soon. */
  readonly soon: () => CallOptions;
}
