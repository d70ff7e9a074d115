import type { TrainingBatch } from '@agentlightning/core/training-runtime';

/** A way to get a batch from one process to another, where it lies as arrays of numbers when it is acknowledged. */
export interface Way {
  readonly name: string;
  /** Sends a batch; resolves with the number of bytes of the batch on the wire when the receiver has it unpacked. */
  send(batch: TrainingBatch): Promise<number>;
  close(): Promise<void>;
}
