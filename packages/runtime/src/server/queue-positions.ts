import { OperationState, QueueReason } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { initialQueuePosition, type OperationRecord, type QueuePosition } from './operation-record.ts';

/** The progress of a model's sequence. */
export interface SequenceProgress {
  readonly nextToRun: number;
  /** The first number that was not received. */
  readonly nextSeq: number;
  /** True when an operation is running or about to. */
  readonly isEngineBusy: boolean;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/**
 * Updates the queue positions of waiting operations; returns those to report: a changed reason at once, a changed
 * position at intervals, a new operation never, since its arrival is reported anyway.
 */
export function updateQueuePositions(
  records: Iterable<OperationRecord>,
  progress: SequenceProgress,
): readonly OperationRecord[] {
  const changed: OperationRecord[] = [];
  for (const record of records) {
    if (record.state !== OperationState.STAGED) continue;
    const before = record.queue;
    record.queue = positionOf(record.seq, progress);
    if (before === initialQueuePosition) continue;
    const hasOtherReason = before.reason !== record.queue.reason;
    const hasMoved = before.position !== record.queue.position;
    if (hasOtherReason || (hasMoved && record.mayReport(progress.nowMs))) changed.push(record);
  }
  return changed;
}

function positionOf(seq: number, { nextToRun, nextSeq, isEngineBusy }: SequenceProgress): QueuePosition {
  const position = Math.max(0, seq - nextToRun);
  if (seq > nextSeq) return { position, reason: QueueReason.SEQUENCE_GAP };
  if (position > 0) return { position, reason: QueueReason.EARLIER_OPERATION };
  return { position, reason: isEngineBusy ? QueueReason.ENGINE_BUSY : QueueReason.UNSPECIFIED };
}
