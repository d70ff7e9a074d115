import { randomUUID } from 'node:crypto';
import type { Clock } from '@agentlightning/core';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { ModelInfoSchema } from '../gen/agentlightning/runtime/v1/model_pb.ts';
import { OperationState } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { ChangeLog } from './change-log.ts';
import type { EngineModel } from './engine.ts';
import { GradientLedger } from './gradient-ledger.ts';
import { differenceOf, type ModelRequest } from './model-request.ts';
import { type OperationProgress, OperationRecord, type OperationWork } from './operation-record.ts';
import { placeInLine } from './place-in-line.ts';
import type { TurnTaking } from './turn-taking.ts';

/** What a model is made of, and what it shares with the other models of the server. */
export interface HostedModelOptions extends ModelRequest {
  readonly clock: Clock;
  /** One piece of work at a time in the whole engine. */
  readonly turns: TurnTaking;
  readonly reorderWindow: number;
  readonly resultTtlMs: number;
}

/** Ending states; the results of these are kept for a while. */
const endedStates: ReadonlySet<OperationState> = new Set([
  OperationState.SUCCEEDED,
  OperationState.FAILED,
  OperationState.CANCELLED,
]);

/**
 * One model on the server: its operations in strict order of their sequence numbers, each executed
 * exactly once, however often and in whatever order they arrive.
 */
export class HostedModel {
  readonly modelId: string;
  readonly ledger: GradientLedger = new GradientLedger();
  readonly changes: ChangeLog<OperationRecord> = new ChangeLog();
  /** Tells this life of the model id from an earlier one in cursors. */
  readonly incarnation: string = randomUUID().slice(0, 8);
  /** Set by operation 0. */
  engine: EngineModel | null = null;
  /** Why nothing runs any more; null while the model lives. */
  #endReason: RuntimeError | null = null;
  #owner = '';
  /** Until when a session is known to have owned the model, in Unix milliseconds. */
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

  /** What of a request is not as this model was made; undefined when it is the same. */
  differenceTo(request: ModelRequest): string | undefined {
    return differenceOf(this.#options, request);
  }

  /** The first sequence number that has not been accepted. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** True when the model could not be made, so that its id is free again. */
  get hasFailedToStart(): boolean {
    return this.#records.get(0)?.state === OperationState.FAILED;
  }

  /**
   * For how long no session has owned the model, in milliseconds; negative while one does.
   * @param livesUntilMs - until when a session lives, undefined when it has ended
   */
  abandonedForMs(livesUntilMs: (sessionId: string) => number | undefined): number {
    const nowMs = this.#now();
    this.#ownedUntilMs = Math.max(this.#ownedUntilMs, livesUntilMs(this.#owner) ?? 0);
    return nowMs - this.#ownedUntilMs;
  }

  /** Gives the model to a session. What an earlier one sent beyond a gap is cancelled and its numbers are free. */
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
      remedy: 'Call CreateModel with this session first; a newer session takes the model over.',
    });
  }

  /**
   * The operation that came under this number before, if it is the same one.
   * @throws RuntimeError SEQUENCE_REUSED, RESULT_EXPIRED or SEQUENCE_GAP when the number cannot be used
   */
  findOrRefuse(seq: number, fingerprint: string): OperationRecord | undefined {
    const known = this.#records.get(seq);
    if (known !== undefined) {
      if (known.fingerprint === fingerprint) return known;
      throw new RuntimeError({
        reason: ErrorReason.SEQUENCE_REUSED,
        message: `Sequence number ${seq} of model "${this.modelId}" came before with another payload`,
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

  /** Takes an operation in, or finds it when it came before. */
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
    this.#placeInLine();
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

  /** Notes how far an operation is, and tells about it now and then. */
  noteProgress(seq: number, progress: OperationProgress): void {
    const record = this.#records.get(seq);
    if (record?.state !== OperationState.RUNNING) return;
    record.progress = progress;
    if (record.mayTell(this.#now())) this.changes.append(record);
  }

  /** @throws RuntimeError PRECONDITION when it runs or has run */
  cancel(seq: number): OperationRecord {
    const record = this.operation(seq);
    if (record.state === OperationState.STAGED) this.#cancel(record, cancelled('Cancelled on request'));
    if (record.state === OperationState.CANCELLED) return record;
    throw new RuntimeError({
      reason: ErrorReason.PRECONDITION,
      message: `Operation ${seq} of model "${this.modelId}" is not waiting any more and cannot be cancelled`,
    });
  }

  /** Takes nothing more in, cancels what waits and lets what runs finish. */
  async end(reason: RuntimeError): Promise<void> {
    this.#endReason ??= reason;
    for (const record of this.#records.values()) {
      if (record.state === OperationState.STAGED) this.#cancel(record, reason);
    }
    await this.#idle;
    for (const { artifact } of this.#records.values()) await artifact?.discard();
    this.changes.close(reason);
  }

  /** The state as the contract has it. */
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
      await this.#options.turns.run(() => this.#run(record));
      this.#nextToRun += 1;
      this.#placeInLine();
    }
    this.#isRunning = false;
  }

  /** Tells those that wait where they stand, when there is news. */
  #placeInLine(): void {
    const isEngineBusy = this.#options.turns.isBusy;
    const line = { nextToRun: this.#nextToRun, nextSeq: this.#nextSeq, isEngineBusy, nowMs: this.#now() };
    for (const record of placeInLine(this.#records.values(), line)) this.changes.append(record);
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

  /** Operation 0 stays: finding the model again asks for it. */
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
      message: `Operation ${seq} of model "${this.modelId}" ended so long ago that its result is gone`,
    });
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

function cancelled(message: string): RuntimeError {
  return new RuntimeError({ reason: ErrorReason.CANCELLED, message });
}
