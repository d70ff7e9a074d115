import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import { fromBinary } from '@bufbuild/protobuf';
import { type Datum, DatumSchema } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../../runtime-error.ts';
import { ColumnMemory } from '../../wire/packed-array.ts';
import { invalid } from '../invalid.ts';
import { type BatchRules, checkDatum } from './check-datum.ts';
import { DatumStream } from './datum-stream.ts';

/** Size of an allocation for arrays, in bytes. */
const blockBytes = 1024 * 1024;

/** Decodes a batch while it is received. Errors are reported at the end: before, bytes may be missing or corrupted. */
export class BatchDecoder {
  readonly #rules: BatchRules;
  readonly #memory: ColumnMemory;
  readonly #stream = new DatumStream();
  #data: TrainingDatum[] = [];
  #error: unknown;

  /** @param payloadBytes - size of the payload */
  constructor(rules: BatchRules, payloadBytes: number) {
    this.#rules = rules;
    this.#memory = new ColumnMemory(Math.min(payloadBytes, blockBytes));
  }

  /** Adds a chunk of the serialised batch. */
  take(piece: Uint8Array): void {
    if (this.#error !== undefined) return;
    try {
      for (const bytes of this.#stream.push(piece)) {
        const place = { index: this.#data.length, memory: this.#memory };
        this.#data.push(checkDatum(decode(bytes), place, this.#rules));
      }
    } catch (error) {
      this.#error = error;
      this.#data = [];
    }
  }

  /** The batch. @throws RuntimeError INVALID, naming the first invalid datum and field */
  finish(): TrainingBatch {
    if (this.#error !== undefined) throw this.#error;
    if (!this.#stream.isAtEnd) throw invalid('payload', 'is not a serialised Batch: it ends in the middle of a datum');
    if (this.#data.length === 0) throw invalid('data', 'is empty; a batch has at least one sequence');
    return { data: this.#data };
  }
}

function decode(bytes: Uint8Array): Datum {
  try {
    return fromBinary(DatumSchema, bytes);
  } catch (cause) {
    const message = 'payload is not a serialised Batch';
    throw new RuntimeError({ reason: ErrorReason.INVALID, message, field: 'payload', cause });
  }
}
