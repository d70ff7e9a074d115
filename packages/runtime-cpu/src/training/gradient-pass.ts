import { referenceTokenLoss, type ScoredToken } from '@agentlightning/runtime/internal/losses';
import type { Kernels } from '../model/kernels.ts';
import type { ModelConfig } from '../model/model-config.ts';
import type { ResolvedLoss } from './loss-spec.ts';
import type { BatchMember, MicroBatch } from './micro-batch.ts';
import { type ScoreSlopes, type TokenScores, Transformer } from './transformer.ts';

/** A micro-batch after the pass. */
export interface ScoredMicroBatch extends TokenScores {
  /** The weighted sum; 0 for a pass without gradients. */
  readonly loss: number;
}

/** Inputs of a pass. */
export interface GradientPassOptions {
  readonly config: ModelConfig;
  readonly parameters: Float32Array;
  /** Its memory belongs to this pass until the next one begins. */
  readonly kernels: Kernels;
  readonly loss: ResolvedLoss;
}

/** A pass of one batch through the model, micro-batch by micro-batch, with the sum of its gradients. */
export class GradientPass {
  readonly loss: ResolvedLoss;
  readonly #kernels: Kernels;
  readonly #transformer: Transformer;

  constructor({ config, parameters, kernels, loss }: GradientPassOptions) {
    this.loss = loss;
    this.#kernels = kernels;
    kernels.clear();
    this.#transformer = new Transformer(config, parameters, kernels);
  }

  /** The gradients, in the order of the parameters. */
  gradients(): Float32Array {
    return this.#transformer.gradients();
  }

  /** Accumulates a micro-batch's gradients. */
  forwardBackward(microBatch: MicroBatch): ScoredMicroBatch {
    const mark = this.#kernels.mark;
    const pass = this.#transformer.forward(microBatch);
    const { sum, slopes } = lossOf(microBatch, pass.scores, this.loss);
    this.#transformer.backward(pass, slopes);
    this.#kernels.release(mark);
    return { loss: sum, ...pass.scores };
  }

  /** Scores a micro-batch without gradients. */
  score(microBatch: MicroBatch): ScoredMicroBatch {
    const mark = this.#kernels.mark;
    const { scores } = this.#transformer.forward(microBatch);
    this.#kernels.release(mark);
    return { loss: 0, ...scores };
  }
}

/**
 * The plain sum over trained tokens of weight × loss, and its derivatives. Normalisation is the caller's, through the weights. A
 * token of weight 0 has no gradient, whatever is written beside it.
 */
function lossOf(
  { members }: MicroBatch,
  scores: TokenScores,
  loss: ResolvedLoss,
): { readonly sum: number; readonly slopes: ScoreSlopes } {
  const column = (): Float32Array => new Float32Array(scores.logprobs.length);
  const slopes = { logprobs: column(), entropies: column(), values: column() };
  let sum = 0;
  let from = 0;
  for (const member of members) {
    const { weights } = member.example.datum;
    for (const [index, token] of scoredTokens(member, scores, from)) {
      const weight = weights[index] ?? 0;
      const { value, logprobSlope, entropySlope, valueSlope } = referenceTokenLoss(loss, token);
      sum += weight * value;
      slopes.logprobs[from + index] = weight * logprobSlope;
      slopes.entropies[from + index] = weight * entropySlope;
      slopes.values[from + index] = weight * valueSlope;
    }
    from += member.contexts.length;
  }
  return { sum, slopes };
}

/** The tokens of an example whose weight is not 0, by their index among its trained ones. Its scores begin at `from`. */
export function scoredTokens(
  { example: { datum, trainedPositions } }: BatchMember,
  { logprobs, entropies, values }: TokenScores,
  from: number,
): ReadonlyMap<number, ScoredToken> {
  const tokens = new Map<number, ScoredToken>();
  let ratios = 0;
  for (const index of trainedPositions.keys()) {
    if (datum.weights[index] === 0) continue;
    const token = {
      logprob: logprobs[from + index] ?? 0,
      entropy: entropies[from + index] ?? 0,
      samplingLogprob: datum.samplingLogprobs[index] ?? 0,
      referenceLogprob: datum.referenceLogprobs?.[index],
      advantage: datum.advantages[index] ?? 0,
      value: values?.[from + index],
      valueTarget: datum.valueTargets?.[index],
      samplingValue: datum.samplingValues?.[index],
    };
    ratios += token.logprob - token.samplingLogprob;
    tokens.set(index, token);
  }
  const meanLogRatio = ratios / tokens.size;
  return new Map([...tokens].map(([index, token]) => [index, { ...token, meanLogRatio }]));
}
