import { type Operation, OperationState, QueueReason } from '../gen/agentlightning/runtime/v1/operation_pb.ts';

/** The status of an operation, reported about once a second. */
export interface OperationStatus {
  /** Id of the model. */
  readonly modelId: string;
  /** Its number in the model's sequence. */
  readonly sequence: number;
  /** State of the operation. */
  readonly state: 'waiting' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Why it waits; null when it does not wait or the reason is unknown. */
  readonly waitsFor: 'earlier-operation' | 'missing-operation' | 'engine' | 'pause' | null;
  /** Number of operations of the model that must run before it. */
  readonly operationsBefore: number;
  /** Progress; null when unknown. */
  readonly progress: {
    /** From 0 to 1. */
    readonly fraction: number;
    /** 0 when it is not measured in tokens. */
    readonly tokensDone: number;
    /** 0 when it is not measured in tokens. */
    readonly tokensTotal: number;
  } | null;
}

const states: Readonly<Record<OperationState, OperationStatus['state']>> = {
  [OperationState.UNSPECIFIED]: 'waiting',
  [OperationState.STAGED]: 'waiting',
  [OperationState.RUNNING]: 'running',
  [OperationState.SUCCEEDED]: 'succeeded',
  [OperationState.FAILED]: 'failed',
  [OperationState.CANCELLED]: 'cancelled',
};

const reasons: Readonly<Record<QueueReason, OperationStatus['waitsFor']>> = {
  [QueueReason.UNSPECIFIED]: null,
  [QueueReason.EARLIER_OPERATION]: 'earlier-operation',
  [QueueReason.SEQUENCE_GAP]: 'missing-operation',
  [QueueReason.ENGINE_BUSY]: 'engine',
  [QueueReason.PAUSED]: 'pause',
};

/**
 * Converts an operation to its public status. Unknown states and reasons of later contract versions map to the
 * plainest.
 */
export function toOperationStatus({
  modelId,
  seq,
  state,
  queueReason,
  queuePosition,
  progress,
}: Operation): OperationStatus {
  return {
    modelId,
    sequence: seq,
    state: states[state] ?? 'waiting',
    waitsFor: reasons[queueReason] ?? null,
    operationsBefore: queuePosition,
    progress:
      progress === undefined
        ? null
        : { fraction: progress.fraction, tokensDone: progress.tokensDone, tokensTotal: progress.tokensTotal },
  };
}
