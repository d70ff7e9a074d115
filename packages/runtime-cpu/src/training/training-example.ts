import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import type { ModelConfig } from '../model/model-config.ts';
import { RejectedRequestError } from '../runtime-errors.ts';
import type { ResolvedLoss } from './loss-spec.ts';

/** A validated datum, truncated after its last trained token, with the positions of its trained tokens. */
export interface TrainingExample {
  /** Its index in the batch. */
  readonly index: number;
  readonly datum: TrainingDatum;
  /** Number of input tokens: all before the last trained one. */
  readonly inputLength: number;
  /** Positions in `tokenIds` of the trained tokens, ascending, none of them 0. */
  readonly trainedPositions: readonly number[];
}

/** Validates a datum and finds its trained positions; errors include the datum's index. */
export function toTrainingExample(datum: TrainingDatum, index: number, config: ModelConfig): TrainingExample {
  const reject = (what: string): never => {
    throw new RejectedRequestError(`Datum ${index} of the batch: ${what}`, { datumIndex: index });
  };
  const positions: number[] = [];
  for (const { start, end } of datum.trained) {
    if (!(start >= 1 && start < end && end <= datum.tokenIds.length && start > (positions.at(-1) ?? 0))) {
      reject(`the trained interval [${start}, ${end}) is empty, out of order or out of bounds`);
    }
    for (let position = start; position < end; position++) positions.push(position);
  }
  if (datum.tokenIds.length > config.maxContext) {
    reject(`it has ${datum.tokenIds.length} tokens; the model's context is ${config.maxContext}`);
  }
  const foreign = datum.tokenIds.find((token) => token < 0 || token >= config.vocabularySize);
  if (foreign !== undefined) reject(`the token ${foreign} is not in the vocabulary of ${config.vocabularySize}`);
  const unsayable = positions.find((position) => (datum.tokenIds[position] ?? 0) >= config.outputSize);
  if (unsayable !== undefined) reject(`the token at position ${unsayable} can be read but not generated`);
  if (!(datum.temperature > 0 && Number.isFinite(datum.temperature))) {
    reject(`the temperature is ${datum.temperature}; it must be above 0`);
  }
  checkColumns(datum, positions.length, reject);
  return { index, datum, inputLength: positions.at(-1) ?? 0, trainedPositions: positions };
}

/** Optional columns by the parameter that needs them. */
const neededColumns = [
  ['kl_coefficient', 'referenceLogprobs'],
  ['value_coefficient', 'valueTargets'],
  ['value_clip', 'samplingValues'],
] as const;

/** Rejects data without the columns of the loss: a missing reference or return has no meaningful default. */
export function assertColumns(data: readonly TrainingDatum[], { parameters }: ResolvedLoss): void {
  for (const [parameter, column] of neededColumns) {
    if (parameters[parameter] === 0 || (parameter === 'value_clip' && parameters['value_coefficient'] === 0)) continue;
    const datumIndex = data.findIndex((datum) => datum[column] === undefined);
    if (datumIndex < 0) continue;
    const what = `${column} is missing; ${parameter} is not 0`;
    throw new RejectedRequestError(`Datum ${datumIndex} of the batch: ${what}`, { datumIndex });
  }
}

function checkColumns(datum: TrainingDatum, count: number, reject: (what: string) => never): void {
  const columns = { samplingLogprobs: datum.samplingLogprobs, advantages: datum.advantages };
  const { referenceLogprobs, valueTargets, samplingValues } = datum;
  const optional = {
    ...(referenceLogprobs && { referenceLogprobs }),
    ...(valueTargets && { valueTargets }),
    ...(samplingValues && { samplingValues }),
  };
  if (datum.weights.length !== count) reject(`weights has ${datum.weights.length} values for ${count} tokens`);
  if (!datum.weights.every(Number.isFinite)) reject('weights holds a value that is not finite');
  for (const [name, values] of Object.entries({ ...columns, ...optional })) {
    if (values.length !== count) reject(`${name} has ${values.length} values for ${count} trained tokens`);
    const bad = values.findIndex((value, at) => datum.weights[at] !== 0 && !Number.isFinite(value));
    if (bad >= 0) reject(`${name}[${bad}] is ${values[bad]}; only a token of weight 0 may have such a value`);
  }
}
