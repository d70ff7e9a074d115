import type { Clock } from '@agentlightning/core';
import type { CallOptions } from '@grpc/grpc-js';
import type { InferenceService } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import type { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import type { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import type { ServiceClient } from '../grpc/service-client.ts';
import type { CallPolicy } from './call-policy.ts';
import type { OperationStatus } from './operation-status.ts';

/** State shared by all parts of a connection. */
export interface RuntimeLink {
  readonly runtime: ServiceClient<(typeof RuntimeService)['method']>;
  readonly training: ServiceClient<(typeof TrainingService)['method']>;
  readonly inference: ServiceClient<(typeof InferenceService)['method']>;
  readonly sessionId: string;
  readonly policy: CallPolicy;
  readonly clock: Clock;
  /** Maximum distance between the oldest unacknowledged operation and the next. */
  readonly reorderWindow: number;
  /** Called for every new or changed operation. */
  readonly onOperation: (status: OperationStatus) => void;
  /** Aborts when the connection is closed. */
  readonly signal: AbortSignal;
  /** Options of a unary call. */
  readonly soon: () => CallOptions;
}
