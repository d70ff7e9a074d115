import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type OperationProgressSchema,
  type OperationSchema,
  OperationState,
  QueueReason,
} from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { toFailure } from '../wire/failure.ts';
import { toTimestamp } from '../wire/timestamp.ts';
import type { EngineArtifact } from './engine.ts';

/** The outcome of an operation as a message of the contract. */
export type OperationOutcome = NonNullable<MessageInitShape<typeof OperationSchema>['outcome']>;

/** The work of an operation. */
export interface OperationWork {
  /** Distinguishes a retry from another operation with the same number. */
  readonly fingerprint: string;
  /** True when the operation adds to the gradients of the next step. */
  readonly addsGradients: boolean;
  /** Executes it; not called when it was rejected on arrival. */
  readonly execute: () => Promise<OperationOutcome>;
  /** Set when the content was rejected on arrival: the number is used and the operation failed. */
  readonly refusal?: unknown;
  /** Releases the resources of the operation, once, at its end. */
  readonly release?: () => void;
}

/** The output of a forward pass, packed. */
export interface BatchOutput {
  readonly logprobs: Uint8Array;
  /** Empty when the model has no value head. */
  readonly values: Uint8Array;
}

/** The queue position of an operation and the reason it waits. */
export interface QueuePosition {
  readonly position: number;
  readonly reason: QueueReason;
}

/** An operation without a position yet. */
export const initialQueuePosition: QueuePosition = { position: 0, reason: QueueReason.UNSPECIFIED };

/** An operation that does not wait. */
const notQueued: QueuePosition = { position: 0, reason: QueueReason.UNSPECIFIED };

/** The progress of an operation. */
export interface OperationProgress {
  readonly tokensDone: number;
  readonly tokensTotal: number;
}

/** Identity of the operation. */
export interface OperationPlace {
  readonly modelId: string;
  readonly seq: number;
}

/** Interval of progress and position reports. */
const tellEveryMs = 1_000;

/** One accepted operation, from staged to ended. */
export class OperationRecord {
  readonly modelId: string;
  readonly seq: number;
  readonly fingerprint: string;
  readonly addsGradients: boolean;
  readonly createdAtMs: number;
  /** The error of a rejection on arrival, if any. */
  readonly refusal: unknown;
  /** Position of this record's last change in the model's change log. */
  changeIndex = 0;
  /** Output of a forward pass, until the record is removed. */
  output: BatchOutput | null = null;
  /** Output of an export, until the record is removed. */
  artifact: EngineArtifact | null = null;
  /** The last reported queue position. */
  queue: QueuePosition = initialQueuePosition;
  /** The last reported progress; undefined when unknown. */
  progress: OperationProgress | undefined;
  #work: OperationWork | null;
  #state: OperationState = OperationState.STAGED;
  #outcome: OperationOutcome | undefined;
  #startedAtMs: number | undefined;
  #endedAtMs: number | undefined;
  #toldAtMs: number;

  constructor({ modelId, seq }: OperationPlace, work: OperationWork, nowMs: number) {
    this.modelId = modelId;
    this.seq = seq;
    this.fingerprint = work.fingerprint;
    this.addsGradients = work.addsGradients;
    this.createdAtMs = nowMs;
    this.#toldAtMs = nowMs;
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

  /** Whether the report interval has passed; if so, it restarts. */
  mayReport(nowMs: number): boolean {
    if (nowMs - this.#toldAtMs < tellEveryMs) return false;
    this.#toldAtMs = nowMs;
    return true;
  }

  /** Marks it as running and returns its work. */
  start(nowMs: number): () => Promise<OperationOutcome> {
    const work = this.#work;
    this.#state = OperationState.RUNNING;
    this.queue = notQueued;
    this.#startedAtMs = nowMs;
    return work === null ? () => Promise.resolve({ case: undefined }) : work.execute;
  }

  succeed(outcome: OperationOutcome, nowMs: number): void {
    if (this.progress !== undefined) this.progress = { ...this.progress, tokensDone: this.progress.tokensTotal };
    this.#end(OperationState.SUCCEEDED, outcome, nowMs);
  }

  fail(error: unknown, nowMs: number): void {
    this.#end(OperationState.FAILED, { case: 'error', value: toFailure(error) }, nowMs);
  }

  cancel(error: unknown, nowMs: number): void {
    this.#end(OperationState.CANCELLED, { case: 'error', value: toFailure(error) }, nowMs);
  }

  /** The operation as a message of the contract. */
  toMessage(): MessageInitShape<typeof OperationSchema> {
    return {
      modelId: this.modelId,
      seq: this.seq,
      state: this.#state,
      createTime: toTimestamp(this.createdAtMs),
      ...(this.#startedAtMs === undefined ? {} : { startTime: toTimestamp(this.#startedAtMs) }),
      ...(this.#endedAtMs === undefined ? {} : { endTime: toTimestamp(this.#endedAtMs) }),
      queuePosition: this.queue.position,
      queueReason: this.queue.reason,
      ...(this.progress === undefined ? {} : { progress: progressMessage(this.progress) }),
      ...(this.#outcome === undefined ? {} : { outcome: this.#outcome }),
    };
  }

  #end(state: OperationState, outcome: OperationOutcome, nowMs: number): void {
    this.#state = state;
    this.#outcome = outcome;
    this.queue = notQueued;
    this.#endedAtMs = nowMs;
    this.#work?.release?.();
    // The closure holds the batch; results are kept longer than batches.
    this.#work = null;
  }
}

function progressMessage(progress: OperationProgress): MessageInitShape<typeof OperationProgressSchema> {
  const { tokensDone, tokensTotal } = progress;
  return { ...progress, fraction: tokensTotal === 0 ? 0 : Math.min(1, tokensDone / tokensTotal) };
}
