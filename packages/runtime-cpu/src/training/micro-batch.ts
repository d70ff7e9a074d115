import type { TrainingExample } from './training-example.ts';
import type { TransformerShape } from './transformer.ts';

/** Examples of one pass through the model, padded to one of a few shapes. */
export interface MicroBatch {
  readonly shape: TransformerShape;
  /** At most `shape.rows`. */
  readonly examples: readonly TrainingExample[];
}

/** Padded lengths: few, since every shape is compiled once (about 0.3 s). Above the last, multiples of 128. */
const lengths = [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 384, 512, 768, 1024, 1536, 2048] as const;

/** Padded numbers of trained tokens in a row. Above the last, doubled. */
const outputCounts = [16, 64, 256] as const;

/** Tokens of a full micro-batch: about 80 ms of work between turns of the event loop. */
const tokensPerMicroBatch = 2048;

/** Groups examples of similar length. The sum of their gradients does not depend on the grouping. */
export function planMicroBatches(examples: readonly TrainingExample[]): readonly MicroBatch[] {
  const sorted = examples
    .filter((example) => example.trainedPositions.length > 0)
    .sort((a, b) => b.inputLength - a.inputLength || a.index - b.index);
  const batches: MicroBatch[] = [];
  let from = 0;
  while (from < sorted.length) {
    const length = paddedLength(sorted[from]?.inputLength ?? 0);
    const fullRows = rowsForLength(length);
    const members = sorted.slice(from, from + fullRows);
    const outputs = paddedOutputs(Math.max(...members.map(({ trainedPositions }) => trainedPositions.length)));
    batches.push({ shape: { rows: paddedRows(members.length, fullRows), length, outputs }, examples: members });
    from += members.length;
  }
  return batches;
}

function paddedLength(length: number): number {
  return lengths.find((candidate) => candidate >= length) ?? Math.ceil(length / 128) * 128;
}

function paddedOutputs(count: number): number {
  return outputCounts.find((candidate) => candidate >= count) ?? 2 ** Math.ceil(Math.log2(count));
}

/** A full micro-batch, half or a quarter of one. */
function paddedRows(count: number, fullRows: number): number {
  const choices = [fullRows / 4, fullRows / 2, fullRows];
  return choices.find((rows) => Number.isInteger(rows) && rows >= count) ?? fullRows;
}

/** A power of two of at least 1. */
function rowsForLength(length: number): number {
  return Math.max(1, 2 ** Math.floor(Math.log2(tokensPerMicroBatch / length)));
}
