import { randomUUID } from 'node:crypto';
import type { Clock } from '@agentlightning/core';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { ModelInfoSchema } from '../gen/agentlightning/runtime/v1/model_pb.ts';
import { OperationState, QueueReason } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { GradientLedger } from './batches/gradient-ledger.ts';
import { ChangeLog } from './change-log.ts';
import type { EngineModel } from './engine.ts';
import { differenceOf, type ModelRequest } from './model-request.ts';
import type { Mutex } from './mutex.ts';
import {
  initialQueuePosition,
  type OperationProgress,
  OperationRecord,
  type OperationWork,
  type QueuePosition,
} from './operation-record.ts';

/** Dependencies of a model, and the state shared by the models of the server. */
export interface HostedModelOptions extends ModelRequest {
  readonly clock: Clock;
  /** Mutual exclusion of work in the whole engine. */
  readonly mutex: Mutex;
  readonly reorderWindow: number;
  readonly resultTtlMs: number;
}

/** Final states; their results are kept for a while. */
const endedStates: ReadonlySet<OperationState> = new Set([
  OperationState.SUCCEEDED,
  OperationState.FAILED,
  OperationState.CANCELLED,
]);

/**
 * One model on the server: its operations in strict order of their sequence numbers, each executed exactly once,
 * regardless of retries and order of arrival.
 */
export class HostedModel {
  readonly modelId: string;
  readonly ledger: GradientLedger = new GradientLedger();
  readonly changes: ChangeLog<OperationRecord> = new ChangeLog();
  /** Distinguishes this instance of the model id from an earlier one in cursors. */
  readonly incarnation: string = randomUUID().slice(0, 8);
  /** Set by operation 0. */
  engine: EngineModel | null = null;
  /** Why the model was ended; null while it is active. */
  #endReason: RuntimeError | null = null;
  #owner = '';
  /** Last known expiry of the owning session, in Unix milliseconds. */
  #ownedUntilMs: number;
  #nextSeq = 0;
  #nextToRun = 0;
  #isRunning = false;
  #idle: Promise<void> = Promise.resolve();
  readonly #records = new Map<number, OperationRecord>();
  readonly #options: HostedModelOptions;

  constructor(options: HostedModelOptions) {
    this.modelId = options.modelId;
    this.#options = options;
    this.#ownedUntilMs = options.clock.now();
  }

  get baseModel(): string {
    return this.#options.baseModel;
  }

  get hasValueHead(): boolean {
    return this.#options.hasValueHead;
  }

  /** The differences between a request and this model; undefined when equal. */
  differenceTo(request: ModelRequest): string | undefined {
    return differenceOf(this.#options, request);
  }

  /** The first sequence number that has not been accepted. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** True when the creation of the model failed, so that its id is free. */
  get hasFailedToStart(): boolean {
    return this.#records.get(0)?.state === OperationState.FAILED;
  }

  /**
   * Time since the model lost its owner, in milliseconds; negative while it has one.
   * @param livesUntilMs - the expiry of a session, undefined when it has ended
   */
  abandonedForMs(livesUntilMs: (sessionId: string) => number | undefined): number {
    const nowMs = this.#now();
    this.#ownedUntilMs = Math.max(this.#ownedUntilMs, livesUntilMs(this.#owner) ?? 0);
    return nowMs - this.#ownedUntilMs;
  }

  /**
   * Assigns the model to a session. Operations of an earlier one beyond a gap are cancelled, and their numbers are
   * free.
   */
  takeOver(sessionId: string): void {
    if (this.#owner === sessionId) return;
    this.#owner = sessionId;
    for (const record of [...this.#records.values()]) {
      if (record.seq < this.#nextSeq) continue;
      this.#cancel(record, cancelled('A newer session has taken over the model'));
      this.#records.delete(record.seq);
    }
  }

  /** @throws RuntimeError why the model was ended, if it was */
  assertLiving(): void {
    if (this.#endReason !== null) throw this.#endReason;
  }

  /** @throws RuntimeError SESSION_SUPERSEDED when another session owns the model */
  assertOwner(sessionId: string): void {
    if (this.#owner === sessionId) return;
    throw new RuntimeError({
      reason: ErrorReason.SESSION_SUPERSEDED,
      message: `Session "${sessionId}" does not own model "${this.modelId}"`,
      remedy: 'Call CreateModel with this session first; a newer session takes over the model.',
    });
  }

  /**
   * The operation received earlier under this number, if it is the same.
   * @throws RuntimeError SEQUENCE_REUSED, RESULT_EXPIRED or SEQUENCE_GAP when the number cannot be used
   */
  findOrRefuse(seq: number, fingerprint: string): OperationRecord | undefined {
    const known = this.#records.get(seq);
    if (known !== undefined) {
      if (known.fingerprint === fingerprint) return known;
      throw new RuntimeError({
        reason: ErrorReason.SEQUENCE_REUSED,
        message: `Sequence number ${seq} of model "${this.modelId}" was used before with another payload`,
      });
    }
    if (seq < this.#nextSeq) throw this.#resultExpired(seq);
    if (seq >= this.#nextSeq + this.#options.reorderWindow) {
      throw new RuntimeError({
        reason: ErrorReason.SEQUENCE_GAP,
        message: `Sequence number ${seq} of model "${this.modelId}" is too far ahead; ${this.#nextSeq} is expected`,
        nextSequence: this.#nextSeq,
      });
    }
    return undefined;
  }

  /** Accepts an operation, or returns the one received earlier. */
  accept(seq: number, work: OperationWork): OperationRecord {
    this.assertLiving();
    this.#forgetOldResults();
    const known = this.findOrRefuse(seq, work.fingerprint);
    if (known !== undefined) {
      work.release?.();
      return known;
    }
    const record = new OperationRecord({ modelId: this.modelId, seq }, work, this.#now());
    this.#records.set(seq, record);
    while (this.#records.has(this.#nextSeq)) this.#nextSeq += 1;
    this.#updateQueuePositions();
    this.changes.append(record);
    if (!this.#isRunning) this.#idle = this.#runInOrder();
    return record;
  }

  /** @throws RuntimeError NOT_FOUND or RESULT_EXPIRED */
  operation(seq: number): OperationRecord {
    const record = this.#records.get(seq);
    if (record !== undefined) return record;
    if (seq < this.#nextSeq) throw this.#resultExpired(seq);
    throw new RuntimeError({
      reason: ErrorReason.NOT_FOUND,
      message: `Operation ${seq} of model "${this.modelId}" not found; ${this.#nextSeq} is expected next`,
    });
  }

  /** Records an operation's progress, and publishes it at intervals. */
  noteProgress(seq: number, progress: OperationProgress): void {
    const record = this.#records.get(seq);
    if (record?.state !== OperationState.RUNNING) return;
    record.progress = progress;
    if (record.mayReport(this.#now())) this.changes.append(record);
  }

  /** @throws RuntimeError PRECONDITION when it is running or has ended */
  cancel(seq: number): OperationRecord {
    const record = this.operation(seq);
    if (record.state === OperationState.STAGED) this.#cancel(record, cancelled('Cancelled on request'));
    if (record.state === OperationState.CANCELLED) return record;
    throw new RuntimeError({
      reason: ErrorReason.PRECONDITION,
      message: `Operation ${seq} of model "${this.modelId}" is not waiting any more and cannot be cancelled`,
    });
  }

  /** Rejects new operations, cancels waiting ones and lets the running one finish. */
  async end(reason: RuntimeError): Promise<void> {
    this.#endReason ??= reason;
    for (const record of this.#records.values()) {
      if (record.state === OperationState.STAGED) this.#cancel(record, reason);
    }
    await this.#idle;
    for (const { artifact } of this.#records.values()) await artifact?.discard();
    this.changes.close(reason);
  }

  /** The state as a message of the contract. */
  info(): MessageInitShape<typeof ModelInfoSchema> {
    const state = this.engine?.state();
    const { modelId, baseModel, seed, lora, hasValueHead } = this.#options;
    return {
      modelId,
      baseModel,
      seed,
      ...(lora === undefined ? {} : { lora: { ...lora, targetModules: [...lora.targetModules] } }),
      hasValueHead,
      trainableParameterCount: BigInt(state?.trainableParameterCount ?? 0),
      nextSeq: this.#nextSeq,
      step: state?.step ?? 0,
      policyVersion: state?.policyVersion ?? 0,
      hasPendingGradients: this.ledger.hasPending,
      isCorrupted: state?.isCorrupted ?? false,
    };
  }

  async #runInOrder(): Promise<void> {
    this.#isRunning = true;
    for (let record = this.#due(); record !== undefined; record = this.#due()) {
      await this.#options.mutex.run(() => this.#run(record));
      this.#nextToRun += 1;
      this.#updateQueuePositions();
    }
    this.#isRunning = false;
  }

  /** Publishes changed queue positions. */
  #updateQueuePositions(): void {
    const isEngineBusy = this.#options.mutex.isBusy;
    const progress = { nextToRun: this.#nextToRun, nextSeq: this.#nextSeq, isEngineBusy, nowMs: this.#now() };
    for (const record of updateQueuePositions(this.#records.values(), progress)) this.changes.append(record);
  }

  #due(): OperationRecord | undefined {
    return this.#nextToRun < this.#nextSeq ? this.#records.get(this.#nextToRun) : undefined;
  }

  async #run(record: OperationRecord): Promise<void> {
    if (record.state === OperationState.STAGED) {
      const execute = record.start(this.#now());
      this.changes.append(record);
      try {
        record.succeed(await execute(), this.#now());
      } catch (error) {
        record.fail(error, this.#now());
      }
      this.changes.append(record);
    }
    if (!record.addsGradients) return;
    if (record.state === OperationState.SUCCEEDED) this.ledger.add(record.seq);
    else this.ledger.miss(record.seq);
  }

  #cancel(record: OperationRecord, reason: RuntimeError): void {
    record.cancel(reason, this.#now());
    this.changes.append(record);
  }

  /** Operation 0 is kept: reattaching to the model returns it. */
  #forgetOldResults(): void {
    const oldest = this.#now() - this.#options.resultTtlMs;
    let hasForgotten = false;
    for (const { seq, state, endedAtMs, artifact } of this.#records.values()) {
      if (seq === 0 || seq >= this.#nextToRun || !endedStates.has(state)) continue;
      if (endedAtMs === undefined || endedAtMs >= oldest) continue;
      void artifact?.discard();
      this.#records.delete(seq);
      hasForgotten = true;
    }
    if (hasForgotten) this.changes.compact((record) => this.#records.has(record.seq));
  }

  #resultExpired(seq: number): RuntimeError {
    return new RuntimeError({
      reason: ErrorReason.RESULT_EXPIRED,
      message: `Operation ${seq} of model "${this.modelId}" has expired: its result was removed`,
    });
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

function cancelled(message: string): RuntimeError {
  return new RuntimeError({ reason: ErrorReason.CANCELLED, message });
}

/** The progress of a model's sequence. */
interface SequenceProgress {
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
function updateQueuePositions(
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
