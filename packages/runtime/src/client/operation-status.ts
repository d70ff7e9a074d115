import { type Operation, OperationState, QueueReason } from '../gen/agentlightning/runtime/v1/operation_pb.ts';

/** How an operation is, as the runtime tells it about once a second. */
export interface OperationStatus {
  readonly modelId: string;
  /** Its number in the model's sequence. */
  readonly sequence: number;
  readonly state: 'waiting' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Why it waits; null when it does not, or the runtime does not say. */
  readonly waitsFor: 'earlier-operation' | 'missing-operation' | 'engine' | 'pause' | null;
  /** How many operations of the model must run before it. */
  readonly operationsBefore: number;
  /** How far it is; null when the runtime does not know. */
  readonly progress: {
    /** From 0 to 1. */
    readonly fraction: number;
    /** 0 when it is not about tokens. */
    readonly tokensDone: number;
    /** 0 when it is not about tokens. */
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

/** An operation as callers are told of it. States and reasons of later versions of the contract count as the plainest. */
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
