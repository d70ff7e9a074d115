import { outputSize, vocabularySize } from '../text/vocabulary.ts';

/** The shape of a model: a decoder-only transformer like Llama (RMSNorm, rotary positions, SwiGLU). */
export interface ModelConfig {
  /** Width of the residual stream. */
  readonly width: number;
  /** Number of transformer blocks. */
  readonly layers: number;
  /** Attention heads in a block; each is `width / heads` wide, a multiple of 4. */
  readonly heads: number;
  /** Width of the feed-forward part of a block, a multiple of 4. */
  readonly hidden: number;
  /** Longest sequence in tokens, prompt and response together. */
  readonly maxContext: number;
  /** Base of the rotary frequencies. */
  readonly ropeBase: number;
  /** Added to the mean square in RMSNorm. */
  readonly normEpsilon: number;
  /** Whether input and output embeddings share their weights. */
  readonly isTied: boolean;
  /** Standard deviation of the initial weights. Deliberately large: it improves the exploration of small models. */
  readonly initialDeviation: number;
  /** Number of input token ids. */
  readonly vocabularySize: number;
  /** Number of output token ids, the first of the vocabulary. A multiple of 4. */
  readonly outputSize: number;
  /** Whether the model has a value head, which predicts the expected return of each text. */
  readonly hasValueHead: boolean;
}

/** The shape of the models in this package: about 115,000 parameters. */
export const tinyModelConfig: ModelConfig = {
  width: 64,
  layers: 2,
  heads: 4,
  hidden: 160,
  maxContext: 2048,
  ropeBase: 10_000,
  normEpsilon: 1e-5,
  isTied: true,
  initialDeviation: 0.08,
  vocabularySize,
  outputSize,
  hasValueHead: false,
};
