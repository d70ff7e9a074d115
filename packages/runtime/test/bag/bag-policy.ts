import type { TrainingDatum } from '@agentlightning/core/training-runtime';

/** Number of token ids of the test policy. */
export const vocabSize = 16;

/** Weights: a row of `vocabSize` factors and a bias for each token id. */
export const parameterCount: number = vocabSize * (vocabSize + 1);

/** The distribution of the next token after some tokens. */
export interface NextToken {
  /** Frequency of each preceding id; last a 1 for the bias. */
  readonly features: Float64Array;
  /** Natural logarithms, at the temperature. */
  readonly logprobs: Float64Array;
  /** In nats. */
  readonly entropy: number;
}

/** A bag-of-tokens softmax policy: logits are linear in how often each token came before. */
export function nextToken(parameters: Float32Array, context: ArrayLike<number>, temperature: number): NextToken {
  const features = new Float64Array(vocabSize + 1);
  for (let at = 0; at < context.length; at += 1) {
    const id = context[at] ?? 0;
    features[id] = (features[id] ?? 0) + 1 / context.length;
  }
  features[vocabSize] = 1;
  const logits = Float64Array.from({ length: vocabSize }, (_, id) => {
    const row = parameters.subarray(id * (vocabSize + 1), (id + 1) * (vocabSize + 1));
    return row.reduce((sum, factor, at) => sum + factor * (features[at] ?? 0), 0) / temperature;
  });
  const highest = Math.max(...logits);
  const logSum = highest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0));
  const logprobs = logits.map((logit) => logit - logSum);
  const entropy = -logprobs.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0);
  return { features, logprobs, entropy };
}

/** Derivatives of a loss with respect to the outputs for one token. */
export interface TokenSlopes {
  readonly token: number;
  readonly logprobSlope: number;
  readonly entropySlope: number;
  readonly temperature: number;
}

/** Adds the derivatives with respect to the weights. */
export function addGradient(gradient: Float64Array, next: NextToken, slopes: TokenSlopes): void {
  const { token, logprobSlope, entropySlope, temperature } = slopes;
  for (let id = 0; id < vocabSize; id += 1) {
    const logprob = next.logprobs[id] ?? 0;
    const probability = Math.exp(logprob);
    const byLogprob = (id === token ? 1 : 0) - probability;
    const byEntropy = -probability * (logprob + next.entropy);
    const slope = (logprobSlope * byLogprob + entropySlope * byEntropy) / temperature;
    for (let at = 0; at <= vocabSize; at += 1) {
      const index = id * (vocabSize + 1) + at;
      gradient[index] = (gradient[index] ?? 0) + slope * (next.features[at] ?? 0);
    }
  }
}

/** Positions of the trained tokens, in order. */
export function trainedPositions(datum: TrainingDatum): readonly number[] {
  return datum.trained.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, at) => start + at));
}
