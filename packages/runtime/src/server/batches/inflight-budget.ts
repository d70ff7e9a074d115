import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../../runtime-error.ts';

/** Retry delay when the queue is full: about the duration of a small batch. */
const retryAfterMs = 250;

/** Counts the bytes of batches that are uploading, waiting or running. */
export class InflightBudget {
  readonly #limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * Reserves memory for a batch. The next in sequence is always admitted: all others may be waiting for it.
   *
   * @returns releases the reservation; further calls have no effect
   * @throws RuntimeError QUEUE_FULL when the limit would be exceeded
   */
  take(bytes: number, isNextInLine: boolean): () => void {
    if (!isNextInLine && this.#usedBytes + bytes > this.#limitBytes) {
      throw new RuntimeError({
        reason: ErrorReason.QUEUE_FULL,
        message: `${this.#usedBytes} bytes of batches are in flight; ${bytes} more exceed the limit of ${this.#limitBytes}`,
        retryAfterMs,
      });
    }
    this.#usedBytes += bytes;
    let isTaken = true;
    return () => {
      if (isTaken) this.#usedBytes -= bytes;
      isTaken = false;
    };
  }
}
