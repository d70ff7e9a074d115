import { numpy as np } from '@jax-js/jax';
import type { ModelConfig } from '../model/model-config.ts';
import { parameterLayout } from '../model/parameters.ts';
import { rotaryTable } from '../model/rotary.ts';
import type { ProgramInput } from './gradient-program.ts';
import type { ResolvedLoss } from './loss-spec.ts';
import type { PaddedColumns } from './padded-columns.ts';
import type { ParameterArrays, TransformerShape } from './transformer.ts';

/** A model's parameters as jax-js arrays, including the embeddings. */
export function parameterArrays(config: ModelConfig, values: Float32Array): ParameterArrays {
  const tensors = parameterLayout(config).tensors.filter(({ name }) => config.isTied || name !== 'embedding');
  return Object.fromEntries(
    tensors.map(({ name, shape, offset, size }) => [
      name,
      np.array(Float32Array.from(values.subarray(offset, offset + size))).reshape([...shape]),
    ]),
  );
}

/** The embeddings of a micro-batch's tokens, rows × length × width. */
export function embeddedTokens(
  embedding: Float32Array,
  tokens: Int32Array,
  { config, shape }: { readonly config: ModelConfig; readonly shape: TransformerShape },
): np.Array {
  const { width } = config;
  const embedded = new Float32Array(tokens.length * width);
  for (const [index, token] of tokens.entries()) {
    embedded.set(embedding.subarray(token * width, (token + 1) * width), index * width);
  }
  return np.array(embedded).reshape([shape.rows, shape.length, width]);
}

/** Inputs of a program other than parameters and embeddings. */
export function programInput(
  columns: PaddedColumns,
  loss: ResolvedLoss,
  { config, shape }: { readonly config: ModelConfig; readonly shape: TransformerShape },
): ProgramInput {
  const { cosines, sines } = rotaryTable(config, shape.length);
  const table = [shape.length, config.width / config.heads / 2];
  const column = (values: Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>): np.Array =>
    np.array(values).reshape([shape.rows, shape.outputs]);
  return {
    model: {
      positions: column(columns.positions),
      cosines: np.array(cosines).reshape(table),
      sines: np.array(sines).reshape(table),
    },
    scoring: {
      targets: column(columns.targets),
      temperatures: np.array(columns.temperatures),
      isTrained: column(columns.isTrained).greater(0),
      samplingLogprobs: column(columns.samplingLogprobs),
      referenceLogprobs: column(columns.referenceLogprobs),
      advantages: column(columns.advantages),
      weights: column(columns.weights),
      ...(config.hasValueHead && {
        valueTargets: column(columns.valueTargets),
        samplingValues: column(columns.samplingValues),
      }),
      scalars: Object.fromEntries(
        Object.entries(loss.parameters).map(([name, value]) => [name, np.array(value, { dtype: np.float32 })]),
      ),
    },
  };
}
