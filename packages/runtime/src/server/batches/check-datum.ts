import type { RuntimeCapabilities, TrainingDatum } from '@agentlightning/core/training-runtime';
import type { Datum } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { decodeDatum, trainedTokenCount } from '../../wire/batch.ts';
import type { ColumnMemory } from '../../wire/packed-array.ts';
import { invalid } from '../invalid.ts';

/** Columns that only some losses read. */
export type OptionalColumn = 'reference_logprobs' | 'value_targets' | 'sampling_values';

/** Constraints on the data. */
export interface BatchRules {
  readonly model: RuntimeCapabilities['models'][number];
  /** Optional columns that the loss reads, each with the parameter that requires it. */
  readonly needed: Partial<Record<OptionalColumn, string>>;
  /** Whether the runtime scores at temperature 1 only. */
  readonly isUnitTemperature: boolean;
}

/** The location of a datum. */
export interface DatumPlace {
  /** Its index in the batch. */
  readonly index: number;
  /** Allocator of its arrays. */
  readonly memory: ColumnMemory;
}

const noBytes = new Uint8Array(0);

/** Tolerance for log-probabilities above 0, by rounding. */
const logprobCeiling = 1e-6;

/** Ceiling of values that must only be finite. */
const anyFinite = Number.MAX_VALUE;

/**
 * Decodes a datum and validates everything the computation relies on.
 * @throws RuntimeError INVALID, naming the field
 */
export function checkDatum(message: Datum, { index, memory }: DatumPlace, rules: BatchRules): TrainingDatum {
  checkByteLengths(message, index);
  // Before decoding: an unbounded interval would need unbounded memory.
  checkTrained(message, index);
  if (message.images.length > 0) throw invalid('images', `are not read by model "${rules.model.name}"`, index);
  const datum = decodeDatum(message, memory);
  checkTokens(datum.tokenIds, index, rules.model);
  const count = trainedTokenCount(datum);
  checkNumbers({ field: 'sampling_logprobs', index, count }, datum.samplingLogprobs, logprobCeiling);
  checkNumbers({ field: 'advantages', index, count }, datum.advantages, anyFinite);
  checkNumbers({ field: 'weights', index, count }, datum.weights, anyFinite);
  const { temperature } = datum;
  for (const [field, numbers, ceiling] of [
    ['reference_logprobs', datum.referenceLogprobs, logprobCeiling],
    ['value_targets', datum.valueTargets, anyFinite],
    ['sampling_values', datum.samplingValues, anyFinite],
  ] as const) {
    const parameter = rules.needed[field];
    if (numbers !== undefined) checkNumbers({ field, index, count }, numbers, ceiling);
    else if (parameter !== undefined) throw invalid(field, `is missing; ${parameter} is not 0`, index);
  }
  if (!(Number.isFinite(temperature) && temperature > 0)) {
    throw invalid('temperature', `is ${temperature}; it must be finite and above 0`, index);
  }
  if (rules.isUnitTemperature && temperature !== 1) {
    throw invalid('temperature', `is ${temperature}; this runtime scores at 1 only (feature unit_temperature)`, index);
  }
  return datum;
}

function checkByteLengths(message: Datum, index: number): void {
  const arrays = {
    token_ids: message.tokenIds,
    sampling_logprobs: message.samplingLogprobs,
    advantages: message.advantages,
    weights: message.weights,
    reference_logprobs: message.referenceLogprobs ?? noBytes,
    value_targets: message.valueTargets ?? noBytes,
    sampling_values: message.samplingValues ?? noBytes,
  };
  for (const [field, bytes] of Object.entries(arrays)) {
    if (bytes.byteLength % 4 === 0) continue;
    throw invalid(field, `has ${bytes.byteLength} bytes, which is not a multiple of 4`, index);
  }
}

function checkTokens(ids: Int32Array, index: number, model: BatchRules['model']): void {
  if (ids.length < 2) throw invalid('token_ids', `has ${ids.length} tokens; at least 2 are needed`, index);
  if (ids.length > model.maxContext) {
    const limit = `the context of ${model.name} is ${model.maxContext}`;
    throw invalid('token_ids', `has ${ids.length} tokens; ${limit}`, index);
  }
  const at = firstOutside(ids, model.vocabSize);
  if (at < 0) return;
  const range = `the vocabulary of ${model.name} has 0 to ${model.vocabSize - 1}`;
  throw invalid(`token_ids[${at}]`, `is ${ids[at]}; ${range}`, index);
}

function checkTrained({ trained, tokenIds }: Datum, index: number): void {
  const tokenCount = tokenIds.byteLength / 4;
  let from = 1;
  for (const [at, { start, end }] of trained.entries()) {
    if (start < from || start >= end) {
      const rule = `intervals ascend, are not empty, and this one starts at ${from} or later`;
      throw invalid(`trained[${at}].start`, `is ${start} with end ${end}; ${rule}`, index);
    }
    if (end > tokenCount) {
      const rule = `there are ${tokenCount} tokens`;
      throw invalid(`trained[${at}].end`, `is ${end}; ${rule}`, index);
    }
    from = end;
  }
}

interface Place {
  readonly field: string;
  readonly index: number;
  /** Number of trained tokens. */
  readonly count: number;
}

function checkNumbers({ field, index, count }: Place, numbers: Float32Array, ceiling: number): void {
  if (numbers.length !== count) {
    throw invalid(field, `has ${numbers.length} numbers; ${count} tokens are trained`, index);
  }
  const at = firstAbove(numbers, ceiling);
  if (at < 0) return;
  const rule = ceiling === logprobCeiling ? 'finite and at most 0' : 'finite';
  throw invalid(`${field}[${at}]`, `is ${numbers[at]}; it must be ${rule}`, index);
}

/** Index of the first id outside the vocabulary; -1 without one. A loop, since there are millions. */
function firstOutside(ids: Int32Array, vocabSize: number): number {
  for (let at = 0; at < ids.length; at += 1) {
    const id = ids[at] as number;
    if (id < 0 || id >= vocabSize) return at;
  }
  return -1;
}

/** Index of the first number that is not finite or above the ceiling; -1 without one. */
function firstAbove(numbers: Float32Array, ceiling: number): number {
  for (let at = 0; at < numbers.length; at += 1) {
    const value = numbers[at] as number;
    if (!(value <= ceiling && value >= -Number.MAX_VALUE)) return at;
  }
  return -1;
}
