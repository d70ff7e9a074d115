import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import { fromBinary } from '@bufbuild/protobuf';
import { type Datum, DatumSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { ColumnMemory } from '../wire/packed-array.ts';
import { type BatchRules, checkDatum } from './check-datum.ts';
import { DatumStream } from './datum-stream.ts';
import { invalid } from './invalid.ts';

/** How much memory for arrays is asked for at a time, in bytes. */
const blockBytes = 1024 * 1024;

/** Unpacks a batch as its bytes come. What is wrong with it is told at the end: before, bytes may be missing or damaged. */
export class BatchIntake {
  readonly #rules: BatchRules;
  readonly #memory: ColumnMemory;
  readonly #stream = new DatumStream();
  #data: TrainingDatum[] = [];
  #fault: unknown;

  /** @param payloadBytes - how much will come */
  constructor(rules: BatchRules, payloadBytes: number) {
    this.#rules = rules;
    this.#memory = new ColumnMemory(Math.min(payloadBytes, blockBytes));
  }

  /** Takes a piece of the serialised batch in. */
  take(piece: Uint8Array): void {
    if (this.#fault !== undefined) return;
    try {
      for (const bytes of this.#stream.push(piece)) {
        const place = { index: this.#data.length, memory: this.#memory };
        this.#data.push(checkDatum(decode(bytes), place, this.#rules));
      }
    } catch (error) {
      this.#fault = error;
      this.#data = [];
    }
  }

  /** The batch. @throws RuntimeError INVALID, naming the first wrong datum and field */
  finish(): TrainingBatch {
    if (this.#fault !== undefined) throw this.#fault;
    if (!this.#stream.isAtEnd) throw invalid('payload', 'is no serialised Batch: it ends in the middle of a datum');
    if (this.#data.length === 0) throw invalid('data', 'is empty; a batch has at least one sequence');
    return { data: this.#data };
  }
}

function decode(bytes: Uint8Array): Datum {
  try {
    return fromBinary(DatumSchema, bytes);
  } catch (cause) {
    const message = 'payload is no serialised Batch';
    throw new RuntimeError({ reason: ErrorReason.INVALID, message, field: 'payload', cause });
  }
}
