import { nn, numpy as np } from '@jax-js/jax';
import type { ModelConfig } from '../model/model-config.ts';

/** A model's tensors as jax-js arrays, named as in `parameters.ts`. */
export type ParameterArrays = Record<string, np.Array>;

/** The shape of a padded batch and of its outputs. */
export interface TransformerShape {
  /** Number of sequences. */
  readonly rows: number;
  /** Number of tokens per sequence, padding included. */
  readonly length: number;
  /** Number of output positions per sequence. */
  readonly outputs: number;
}

/** Inputs of the forward pass other than the parameters. It takes ownership of them, as jax-js does. */
export type TransformerInput = {
  /** Token embeddings, rows × length × width. They are looked up outside: jax-js 0.1.25 cannot jit a scatter. */
  embedded: np.Array;
  /** int32, rows × outputs: positions whose following token is wanted. */
  positions: np.Array;
  /** length × half a head's width. */
  cosines: np.Array;
  /** length × half a head's width. */
  sines: np.Array;
};

/** Outputs at the selected positions. */
export type TransformerOutput = {
  /** rows × outputs × output size */
  logits: np.Array;
  /** rows × outputs; only with a value head. */
  values?: np.Array;
};

/**
 * The model's outputs at the selected positions. Padding is at the end of a row, so causal attention excludes it. Takes
 * ownership of both arguments.
 */
export function transformerOutput(
  parameters: ParameterArrays,
  input: TransformerInput,
  context: { readonly config: ModelConfig; readonly shape: TransformerShape },
): TransformerOutput {
  const { config, shape } = context;
  const { rows, length, outputs } = shape;
  let residual = input.embedded.reshape([rows * length, config.width]);
  for (let layer = 0; layer < config.layers; layer++) {
    const tensor = (name: string): np.Array => take(parameters, `block_${layer}.${name}`);
    const attended = attention(rmsNorm(residual.ref, tensor('attention_norm'), config), tensor, {
      cosines: input.cosines.ref,
      sines: input.sines.ref,
      ...context,
    });
    residual = residual.add(attended);
    const normed = rmsNorm(residual.ref, tensor('feed_forward_norm'), config);
    residual = residual.add(feedForward(normed, tensor));
  }
  input.cosines.dispose();
  input.sines.dispose();
  // Normalised before selecting positions: in the other order jax-js recomputes the norm inside the product.
  const normed = rmsNorm(residual, take(parameters, 'final_norm'), config).reshape([rows, length, config.width]);
  const wanted = np.matmul(nn.oneHot(input.positions, length), normed).reshape([rows * outputs, config.width]);
  const values = config.hasValueHead
    ? {
        values: project(wanted.ref, take(parameters, 'value_head'))
          .add(take(parameters, 'value_bias'))
          .reshape([rows, outputs]),
      }
    : {};
  const logits = project(wanted, unembedding(parameters, config)).reshape([rows, outputs, config.outputSize]);
  return { logits, ...values };
}

type Tensor = (name: string) => np.Array;

interface AttentionContext {
  readonly config: ModelConfig;
  readonly shape: TransformerShape;
  readonly cosines: np.Array;
  readonly sines: np.Array;
}

function attention(normed: np.Array, tensor: Tensor, context: AttentionContext): np.Array {
  const { config, shape, cosines, sines } = context;
  const headWidth = config.width / config.heads;
  const heads = (name: string): np.Array =>
    project(normed.ref, tensor(name))
      .reshape([shape.rows, shape.length, config.heads, headWidth])
      .transpose([0, 2, 1, 3]);
  const queries = rotate(heads('query').mul(1 / Math.sqrt(headWidth)), cosines.ref, sines.ref);
  const keys = rotate(heads('key'), cosines, sines);
  const values = heads('value');
  normed.dispose();
  const scores = np.matmul(queries, keys.transpose([0, 1, 3, 2]));
  const weights = nn.softmax(np.where(causalMask(shape.length), scores, -1e9), -1);
  const mixed = np
    .matmul(weights, values)
    .transpose([0, 2, 1, 3])
    .reshape([shape.rows * shape.length, config.width]);
  return project(mixed, tensor('attention_output'));
}

function feedForward(normed: np.Array, tensor: Tensor): np.Array {
  const gate = nn.silu(project(normed.ref, tensor('gate')));
  return project(gate.mul(project(normed, tensor('up'))), tensor('down'));
}

/** Root-mean-square normalisation (Zhang & Sennrich 2019) over the last axis. */
function rmsNorm(x: np.Array, weights: np.Array, config: ModelConfig): np.Array {
  const meanSquare = np.square(x.ref).mean(-1, { keepdims: true }).add(config.normEpsilon);
  return x.div(np.sqrt(meanSquare)).mul(weights);
}

function rotate(x: np.Array, cosines: np.Array, sines: np.Array): np.Array {
  const half = (x.shape.at(-1) ?? 0) / 2;
  const first = x.ref.slice([], [], [], [0, half]);
  const second = x.slice([], [], [], [half, 2 * half]);
  const rotatedFirst = first.ref.mul(cosines.ref).sub(second.ref.mul(sines.ref));
  const rotatedSecond = second.mul(cosines).add(first.mul(sines));
  return np.concatenate([rotatedFirst, rotatedSecond], -1);
}

/** `x · weightsᵀ`: matrices are stored output × input. */
function project(x: np.Array, weights: np.Array): np.Array {
  return np.matmul(x, weights.transpose());
}

function causalMask(length: number): np.Array {
  const row = np.arange(length).reshape([length, 1]);
  return row.greaterEqual(np.arange(length).reshape([1, length]));
}

function unembedding(parameters: ParameterArrays, config: ModelConfig): np.Array {
  if (!config.isTied) return take(parameters, 'unembedding');
  return take(parameters, 'embedding').slice([0, config.outputSize], []);
}

/** Moves the only reference to a tensor: every tensor is used exactly once. */
function take(parameters: ParameterArrays, name: string): np.Array {
  return parameters[name] as np.Array;
}
