import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { type Operation, OperationState } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { fromFailure } from '../wire/failure.ts';
import { classifyCallError } from '../wire/grpc-error.ts';
import { toOperationStatus } from './operation-status.ts';
import { type RuntimeLink, untimed } from './runtime-link.ts';

interface Expectation {
  readonly resolve: (operation: Operation) => void;
  readonly reject: (error: unknown) => void;
  /** True when the runtime has acknowledged the operation. */
  isAccepted: boolean;
}

/**
 * Watches all operations of one model over one stream. A lost stream resumes after the last event; when that fails
 * until the timeout, all pending operations are rejected.
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

  /** Why pending operations cannot complete; undefined without a failure. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Watches until the connection is closed or lost. Settles pending operations; never rejects. */
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
    // The caller may await it later; until then a rejection is not unhandled.
    result.catch(() => {});
    return result;
  }

  /** The runtime has acknowledged the operation and its status. */
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

  /** Rejects all pending and future operations. */
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

  /** Reads until the connection is lost and returns the cause. @throws RuntimeError the runtime's error */
  async #readUntilLost(isFirst: boolean, onSign: () => void): Promise<Error> {
    const { signal } = this.#link;
    try {
      if (!isFirst) await this.#checkAfterOutage();
      await this.#readStream(onSign);
      return endedEarly();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = classifyCallError(error);
      if (failure.kind === 'runtime') throw asLostState(failure.error);
      return failure.error;
    }
  }

  async #readStream(onSign: () => void): Promise<void> {
    const { training, signal, onOperation } = this.#link;
    const request = { modelId: this.#modelId, afterCursor: this.#cursor };
    // Headers, or an empty first response, arrive immediately, so an idle model is known to be watched.
    const options = { ...untimed, signal, onHeader: onSign };
    for await (const { event } of training.watchOperations(request, options)) {
      onSign();
      if (event === undefined) continue;
      this.#cursor = event.cursor;
      if (event.operation === undefined) continue;
      onOperation(toOperationStatus(event.operation));
      this.#settle(event.operation);
    }
  }

  /**
   * Verifies that it is the same runtime process and still has the accepted operations: a restarted one has neither the
   * session nor the operations.
   */
  async #checkAfterOutage(): Promise<void> {
    const { runtime, training, sessionId } = this.#link;
    await runtime.heartbeat({ sessionId });
    for (const [seq, { isAccepted }] of [...this.#expected]) {
      if (!isAccepted) continue;
      const { operation } = await training.getOperation({ modelId: this.#modelId, seq });
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
    message: `Operation ${operation.seq} of model "${operation.modelId}" failed without a reason`,
  });
}

/** The server ended a stream of operations, which is not expected; it resumes like a lost one. */
function endedEarly(): Error {
  return new RuntimeError({
    reason: ErrorReason.INTERNAL,
    message: 'the runtime ended the stream of operations',
  });
}

/** NOT_FOUND after an outage: the runtime was restarted in between. */
function asLostState(error: RuntimeError): RuntimeError {
  if (error.reason !== ErrorReason.NOT_FOUND) return error;
  return new RuntimeError({
    reason: ErrorReason.SESSION_EXPIRED,
    message: `The training runtime has lost its state: ${error.message.replace(/^\[\w+\] /, '')}`,
    cause: error,
  });
}
