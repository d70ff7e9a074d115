import { AgentLightningError } from '@agentlightning/core';
import type { Random } from '../random.ts';
import type { ModelConfig } from './model-config.ts';

/** The position of a weight tensor in the flat parameter vector. Matrices are stored output × input, row by row. */
export interface TensorPlace {
  readonly name: string;
  readonly shape: readonly number[];
  /** First element in the flat vector. */
  readonly offset: number;
  /** Number of elements. */
  readonly size: number;
}

/** The positions of all tensors in a model's flat float32 vector; gradients and Adam's moments have the same layout. */
export interface ParameterLayout {
  readonly tensors: readonly TensorPlace[];
  /** Number of parameters. */
  readonly size: number;
}

/** The names of a block's tensors. */
export const blockTensors = [
  'attention_norm',
  'query',
  'key',
  'value',
  'attention_output',
  'feed_forward_norm',
  'gate',
  'up',
  'down',
] as const;

/**
 * The layout of a model of this shape.
 *
 * @throws AgentLightningError CONFIG for a shape that the kernels cannot compute
 */
export function parameterLayout(config: ModelConfig): ParameterLayout {
  const { width, hidden, heads, outputSize } = config;
  if ([width / heads, hidden, outputSize].some((size) => size % 4 !== 0)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `a model cannot have heads ${width / heads} wide, a hidden layer ${hidden} wide and ${outputSize} output tokens`,
      remedy: 'Use multiples of 4 for all three.',
    });
  }
  const shapes: [name: string, shape: readonly number[]][] = [['embedding', [config.vocabularySize, width]]];
  const blockShapes: Record<(typeof blockTensors)[number], readonly number[]> = {
    attention_norm: [width],
    query: [width, width],
    key: [width, width],
    value: [width, width],
    attention_output: [width, width],
    feed_forward_norm: [width],
    gate: [hidden, width],
    up: [hidden, width],
    down: [width, hidden],
  };
  for (let layer = 0; layer < config.layers; layer++) {
    for (const name of blockTensors) shapes.push([`block_${layer}.${name}`, blockShapes[name]]);
  }
  shapes.push(['final_norm', [width]]);
  if (!config.isTied) shapes.push(['unembedding', [config.outputSize, width]]);
  // Last, so that the other parameters have the same positions without it.
  if (config.hasValueHead) shapes.push(['value_head', [1, width]], ['value_bias', [1]]);
  let offset = 0;
  const tensors = shapes.map(([name, shape]) => {
    const place = { name, shape, offset, size: shape.reduce((product, length) => product * length, 1) };
    offset += place.size;
    return place;
  });
  return { tensors, size: offset };
}

/**
 * Random weights: normal matrices with the config's deviation, norms of one, a value head of zeros. The same random
 * state gives the same weights, with or without a value head.
 */
export function initialParameters(config: ModelConfig, random: Random): Float32Array {
  const layout = parameterLayout(config);
  const values = new Float32Array(layout.size);
  for (const { name, shape, offset, size } of layout.tensors) {
    if (name === 'value_head' || name === 'value_bias') continue;
    for (let i = offset; i < offset + size; i++) {
      values[i] = shape.length === 1 ? 1 : random.nextNormal() * config.initialDeviation;
    }
  }
  return values;
}

/** Adds a value head of zeros to the weights. */
export function withValueHead(
  config: ModelConfig,
  parameters: Float32Array,
): { readonly config: ModelConfig; readonly parameters: Float32Array } {
  if (config.hasValueHead) return { config, parameters };
  const wider = { ...config, hasValueHead: true };
  const extended = new Float32Array(parameterLayout(wider).size);
  extended.set(parameters);
  return { config: wider, parameters: extended };
}

/** The tensors of a flat vector by name, as views. */
export function tensorViews(config: ModelConfig, values: Float32Array): Readonly<Record<string, Float32Array>> {
  const { tensors } = parameterLayout(config);
  return Object.fromEntries(tensors.map(({ name, offset, size }) => [name, values.subarray(offset, offset + size)]));
}
