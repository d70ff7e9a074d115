import type { Clock } from '@agentlightning/core';
import type { CallOptions, Client } from '@connectrpc/connect';
import type { InferenceService } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import type { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import type { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import type { CallPolicy } from './call-policy.ts';
import type { OperationStatus } from './operation-status.ts';

/** State shared by all parts of a connection. */
export interface RuntimeLink {
  readonly runtime: Client<typeof RuntimeService>;
  readonly training: Client<typeof TrainingService>;
  readonly inference: Client<typeof InferenceService>;
  readonly sessionId: string;
  readonly policy: CallPolicy;
  readonly clock: Clock;
  /** Maximum distance between the oldest unacknowledged operation and the next. */
  readonly reorderWindow: number;
  /** Called for every new or changed operation. */
  readonly onOperation: (status: OperationStatus) => void;
  /** Aborts when the connection is closed. */
  readonly signal: AbortSignal;
}

/** Options of a call without a timeout: a stream, or a call that waits for work. Other calls have the connection's. */
export const untimed: CallOptions = { timeoutMs: 0 };
