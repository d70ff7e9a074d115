import type { MicroBatch } from './micro-batch.ts';
import type { TrainingExample } from './training-example.ts';

/** A micro-batch as rectangles, row by row; padding is zero throughout. */
export interface PaddedColumns {
  /** rows × length */
  readonly tokens: Int32Array<ArrayBuffer>;
  /** rows × outputs: the position before each trained token. */
  readonly positions: Int32Array<ArrayBuffer>;
  /** rows × outputs: the trained tokens. */
  readonly targets: Int32Array<ArrayBuffer>;
  /** One a row; 1 for padding. */
  readonly temperatures: Float32Array<ArrayBuffer>;
  /** rows × outputs, 1 where there is a trained token of weight other than 0. */
  readonly isTrained: Float32Array<ArrayBuffer>;
  readonly samplingLogprobs: Float32Array<ArrayBuffer>;
  readonly referenceLogprobs: Float32Array<ArrayBuffer>;
  readonly advantages: Float32Array<ArrayBuffer>;
  readonly weights: Float32Array<ArrayBuffer>;
  readonly valueTargets: Float32Array<ArrayBuffer>;
  readonly samplingValues: Float32Array<ArrayBuffer>;
}

/** Pads a micro-batch to rectangles. Values of tokens that are not trained are omitted, NaN or not. */
export function padColumns({ shape, examples }: MicroBatch): PaddedColumns {
  const column = (): Float32Array<ArrayBuffer> => new Float32Array(shape.rows * shape.outputs);
  const columns = {
    tokens: new Int32Array(shape.rows * shape.length),
    positions: new Int32Array(shape.rows * shape.outputs),
    targets: new Int32Array(shape.rows * shape.outputs),
    temperatures: new Float32Array(shape.rows).fill(1),
    isTrained: column(),
    samplingLogprobs: column(),
    referenceLogprobs: column(),
    advantages: column(),
    weights: column(),
    valueTargets: column(),
    samplingValues: column(),
  };
  for (const [row, example] of examples.entries()) {
    const { datum, inputLength } = example;
    columns.tokens.set(datum.tokenIds.subarray(0, inputLength), row * shape.length);
    columns.temperatures[row] = datum.temperature;
    fillRow(columns, example, row * shape.outputs);
  }
  return columns;
}

function fillRow(columns: PaddedColumns, example: TrainingExample, from: number): void {
  const { datum, trainedPositions } = example;
  for (const [index, position] of trainedPositions.entries()) {
    const at = from + index;
    columns.positions[at] = position - 1;
    columns.targets[at] = datum.tokenIds[position] ?? 0;
    const weight = datum.weights[index] ?? 0;
    if (weight === 0) continue;
    columns.isTrained[at] = 1;
    columns.weights[at] = weight;
    columns.samplingLogprobs[at] = datum.samplingLogprobs[index] ?? 0;
    columns.advantages[at] = datum.advantages[index] ?? 0;
    columns.referenceLogprobs[at] = datum.referenceLogprobs?.[index] ?? 0;
    columns.valueTargets[at] = datum.valueTargets?.[index] ?? 0;
    columns.samplingValues[at] = datum.samplingValues?.[index] ?? 0;
  }
}
