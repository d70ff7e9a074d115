import { once } from 'node:events';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { type Operation, OperationState } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import type { WatchOperationsResponse } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { fromFailure } from '../wire/failure.ts';
import { classifyCallError } from '../wire/grpc-error.ts';
import { toOperationStatus } from './operation-status.ts';
import type { RuntimeLink } from './runtime-link.ts';

interface Expectation {
  readonly resolve: (operation: Operation) => void;
  readonly reject: (error: unknown) => void;
  /** True when the runtime has said that it has the operation. */
  isAccepted: boolean;
}

/**
 * Follows all operations of one model over one stream. A lost stream is taken up again after the last
 * event seen; when that does not succeed for a while, everything that is expected is rejected.
 */
export class OperationWatcher {
  readonly #link: RuntimeLink;
  readonly #modelId: string;
  readonly #expected = new Map<number, Expectation>();
  #cursor = '';
  #failure: unknown;

  constructor(link: RuntimeLink, modelId: string) {
    this.#link = link;
    this.#modelId = modelId;
  }

  /** Why nothing can be expected any more; undefined while all is well. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Follows until the connection is closed or lost. Settles expectations; never rejects. */
  async follow(): Promise<void> {
    try {
      await this.#followThroughOutages();
    } catch (error) {
      this.fail(error);
    }
  }

  /** The end of an operation. Rejects with a typed error when it failed. */
  expect(seq: number): Promise<Operation> {
    const result = new Promise<Operation>((resolve, reject) => {
      if (this.#failure !== undefined) reject(this.#failure);
      else this.#expected.set(seq, { resolve, reject, isAccepted: false });
    });
    // Whoever asked may look at it later; until then a failure is no unhandled one.
    result.catch(() => {});
    return result;
  }

  /** The runtime has said that it has the operation, and how it is. */
  accepted(operation: Operation): void {
    const expectation = this.#expected.get(operation.seq);
    if (expectation !== undefined) expectation.isAccepted = true;
    this.#settle(operation);
  }

  /** The runtime has refused the operation. */
  refused(seq: number, error: unknown): void {
    this.#expected.get(seq)?.reject(error);
    this.#expected.delete(seq);
  }

  /** Rejects everything that is expected, now and later. */
  fail(error: unknown): void {
    this.#failure ??= error;
    for (const { reject } of this.#expected.values()) reject(this.#failure);
    this.#expected.clear();
  }

  async #followThroughOutages(): Promise<void> {
    const { policy, signal } = this.#link;
    const outage = policy.outage();
    for (let isFirst = true; !signal.aborted && this.#failure === undefined; isFirst = false) {
      const lost = await this.#readUntilLost(isFirst, () => outage.end());
      await outage.pause(lost);
    }
  }

  /** Reads until the connection is lost, and says how. @throws RuntimeError what the runtime answered */
  async #readUntilLost(isFirst: boolean, onSign: () => void): Promise<Error> {
    const { signal } = this.#link;
    try {
      if (!isFirst) await this.#checkAfterOutage();
      await this.#readStream(onSign);
      return endedEarly();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = classifyCallError(error);
      if (failure.kind === 'answered') throw asLostState(failure.error);
      return failure.error;
    }
  }

  async #readStream(onSign: () => void): Promise<void> {
    const stream = this.#link.training.watchOperations({
      modelId: this.#modelId,
      afterCursor: this.#cursor,
    });
    const cancel = (): void => stream.cancel();
    this.#link.signal.addEventListener('abort', cancel);
    try {
      // The answer's metadata come at once, so a model at rest is known to be followed.
      stream.on('metadata', onSign);
      stream.on('error', () => {});
      stream.on('data', ({ event }: WatchOperationsResponse) => {
        onSign();
        if (event === undefined) return;
        this.#cursor = event.cursor;
        if (event.operation === undefined) return;
        this.#link.onOperation(toOperationStatus(event.operation));
        this.#settle(event.operation);
      });
      // Rejects with the stream's error, if it ends with one.
      await once(stream, 'end');
    } finally {
      this.#link.signal.removeEventListener('abort', cancel);
    }
  }

  /**
   * Makes sure that it is the same runtime, in the same life, and that it still has what it accepted: a
   * restarted one has neither the session nor the operations.
   */
  async #checkAfterOutage(): Promise<void> {
    const { runtime, training, sessionId, soon } = this.#link;
    await runtime.heartbeat({ sessionId }, soon());
    for (const [seq, { isAccepted }] of [...this.#expected]) {
      if (!isAccepted) continue;
      const { operation } = await training.getOperation({ modelId: this.#modelId, seq }, soon());
      if (operation !== undefined) this.#settle(operation);
    }
  }

  #settle(operation: Operation): void {
    const expectation = this.#expected.get(operation.seq);
    if (expectation === undefined) return;
    switch (operation.state) {
      case OperationState.SUCCEEDED:
        expectation.resolve(operation);
        break;
      case OperationState.FAILED:
      case OperationState.CANCELLED:
        expectation.reject(failureOf(operation));
        break;
      default:
        return;
    }
    this.#expected.delete(operation.seq);
  }
}

function failureOf(operation: Operation): RuntimeError {
  if (operation.outcome.case === 'error') return fromFailure(operation.outcome.value);
  return new RuntimeError({
    reason: ErrorReason.INTERNAL,
    message: `Operation ${operation.seq} of model "${operation.modelId}" failed, and the runtime does not say why`,
  });
}

/** A stream of operations does not end by itself; this one is taken up again like a lost one. */
function endedEarly(): Error {
  return new RuntimeError({
    reason: ErrorReason.INTERNAL,
    message: 'the runtime ended the stream of operations',
  });
}

/** Not to be found after an outage: the runtime has been restarted in between. */
function asLostState(error: RuntimeError): RuntimeError {
  if (error.reason !== ErrorReason.NOT_FOUND) return error;
  return new RuntimeError({
    reason: ErrorReason.SESSION_EXPIRED,
    message: `The training runtime has lost its state: ${error.message.replace(/^\[\w+\] /, '')}`,
    cause: error,
  });
}
