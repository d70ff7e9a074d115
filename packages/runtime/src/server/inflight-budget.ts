import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';

/** How long a client should wait when the queue is full: about the time of a small batch. */
const retryAfterMs = 250;

/** Counts the bytes of batches that are being uploaded, wait or run. */
export class InflightBudget {
  readonly #limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * Takes room for a batch. The next in line always gets it: everything else may be waiting for it.
   *
   * @returns gives the room back; further calls do nothing
   * @throws RuntimeError QUEUE_FULL when there is no room
   */
  take(bytes: number, isNextInLine: boolean): () => void {
    if (!isNextInLine && this.#usedBytes + bytes > this.#limitBytes) {
      throw new RuntimeError({
        reason: ErrorReason.QUEUE_FULL,
        message: `${this.#usedBytes} bytes of batches wait already; ${bytes} more are beyond the limit of ${this.#limitBytes}`,
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
