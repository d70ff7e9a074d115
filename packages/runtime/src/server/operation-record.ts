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

/** The numbers of a forward pass, packed. */
export interface BatchOutput {
  readonly logprobs: Uint8Array;
  /** Empty when the model has no value head. */
  readonly values: Uint8Array;
}

/** Where an operation stands in the line, and why. */
export interface QueuePlace {
  readonly position: number;
  readonly reason: QueueReason;
}

/** Of an operation that has just come and has no place yet. */
export const queuedAnew: QueuePlace = { position: 0, reason: QueueReason.UNSPECIFIED };

/** Of an operation that does not wait. */
const notQueued: QueuePlace = { position: 0, reason: QueueReason.UNSPECIFIED };

/** How far an operation is. */
export interface OperationProgress {
  readonly tokensDone: number;
  readonly tokensTotal: number;
}

/** Which operation it is. */
export interface OperationPlace {
  readonly modelId: string;
  readonly seq: number;
}

/** How often watchers are told of progress and place. */
const tellEveryMs = 1_000;

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
  /** What a forward pass gave, until the record is forgotten. */
  output: BatchOutput | null = null;
  /** What an export wrote, until the record is forgotten. */
  artifact: EngineArtifact | null = null;
  /** Where it stands in the line, as last told. */
  queue: QueuePlace = queuedAnew;
  /** How far it is, as last told; undefined when nothing is known. */
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

  /** Whether it is time to tell again how it is; if so, the time begins anew. */
  mayTell(nowMs: number): boolean {
    if (nowMs - this.#toldAtMs < tellEveryMs) return false;
    this.#toldAtMs = nowMs;
    return true;
  }

  /** Marks it running and gives what is to be done. */
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

  /** The operation as the contract has it. */
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
    // The batch is in the closure; results are kept for long, batches need not be.
    this.#work = null;
  }
}

function progressMessage(progress: OperationProgress): MessageInitShape<typeof OperationProgressSchema> {
  const { tokensDone, tokensTotal } = progress;
  return { ...progress, fraction: tokensTotal === 0 ? 0 : Math.min(1, tokensDone / tokensTotal) };
}
