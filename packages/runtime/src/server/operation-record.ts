import type { MessageInitShape } from '@bufbuild/protobuf';
import { type OperationSchema, OperationState } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { toFailure } from '../wire/failure.ts';
import { toTimestamp } from '../wire/timestamp.ts';

/** How an operation ended, as the contract has it. */
export type OperationOutcome = NonNullable<MessageInitShape<typeof OperationSchema>['outcome']>;

/** What the server has to do for an operation. */
export interface OperationWork {
  /** Tells whether the same operation comes again or another one under the same number. */
  readonly fingerprint: string;
  /** True when the operation adds to the gradients that the next step uses. */
  readonly addsGradients: boolean;
  /** Does it; not called when it was refused on arrival. */
  readonly execute: () => Promise<OperationOutcome>;
  /** Set when the content was refused on arrival: the number is taken, and the operation has failed. */
  readonly refusal?: unknown;
  /** Gives back what is held for the operation, once, when it has ended. */
  readonly release?: () => void;
}

/** Which operation it is. */
export interface OperationPlace {
  readonly modelId: string;
  readonly seq: number;
}

/** One accepted operation, from staged to ended. */
export class OperationRecord {
  readonly modelId: string;
  readonly seq: number;
  readonly fingerprint: string;
  readonly addsGradients: boolean;
  readonly createdAtMs: number;
  /** Why it was refused on arrival; undefined when it was not. */
  readonly refusal: unknown;
  /** Where in the model's changes the last change of this record stands. */
  changeIndex = 0;
  /** Log-probabilities of a forward pass, until the record is forgotten. */
  output: Uint8Array | null = null;
  #work: OperationWork | null;
  #state: OperationState = OperationState.STAGED;
  #outcome: OperationOutcome | undefined;
  #startedAtMs: number | undefined;
  #endedAtMs: number | undefined;

  constructor({ modelId, seq }: OperationPlace, work: OperationWork, nowMs: number) {
    this.modelId = modelId;
    this.seq = seq;
    this.fingerprint = work.fingerprint;
    this.addsGradients = work.addsGradients;
    this.createdAtMs = nowMs;
    this.refusal = work.refusal;
    this.#work = work;
    if (work.refusal !== undefined) this.fail(work.refusal, nowMs);
  }

  get state(): OperationState {
    return this.#state;
  }

  /** Unix milliseconds; undefined until it has ended. */
  get endedAtMs(): number | undefined {
    return this.#endedAtMs;
  }

  /** Marks it running and gives what is to be done. */
  start(nowMs: number): () => Promise<OperationOutcome> {
    const work = this.#work;
    this.#state = OperationState.RUNNING;
    this.#startedAtMs = nowMs;
    return work === null ? () => Promise.resolve({ case: undefined }) : work.execute;
  }

  succeed(outcome: OperationOutcome, nowMs: number): void {
    this.#end(OperationState.SUCCEEDED, outcome, nowMs);
  }

  fail(error: unknown, nowMs: number): void {
    this.#end(OperationState.FAILED, { case: 'error', value: toFailure(error) }, nowMs);
  }

  cancel(error: unknown, nowMs: number): void {
    this.#end(OperationState.CANCELLED, { case: 'error', value: toFailure(error) }, nowMs);
  }

  /** The operation as the contract has it. */
  toMessage(): MessageInitShape<typeof OperationSchema> {
    return {
      modelId: this.modelId,
      seq: this.seq,
      state: this.#state,
      createTime: toTimestamp(this.createdAtMs),
      ...(this.#startedAtMs === undefined ? {} : { startTime: toTimestamp(this.#startedAtMs) }),
      ...(this.#endedAtMs === undefined ? {} : { endTime: toTimestamp(this.#endedAtMs) }),
      ...(this.#outcome === undefined ? {} : { outcome: this.#outcome }),
    };
  }

  #end(state: OperationState, outcome: OperationOutcome, nowMs: number): void {
    this.#state = state;
    this.#outcome = outcome;
    this.#endedAtMs = nowMs;
    this.#work?.release?.();
    // The batch is in the closure; results are kept for long, batches need not be.
    this.#work = null;
  }
}
