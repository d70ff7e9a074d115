import { runMetrics } from '@agentlightning/core/metrics';
import { maxLogRatio, type NamedLoss } from './reference-loss.ts';

/** A trained token after the forward pass. Log-probabilities are natural, at the sampling temperature. */
export interface MeasuredToken {
  /** Under the weights being trained. */
  readonly logprob: number;
  /** Absent where the runtime does not know the distribution. */
  readonly entropy?: number | undefined;
  /** When it was sampled. */
  readonly samplingLogprob: number;
  /** Absent when the datum has no reference. */
  readonly referenceLogprob?: number | undefined;
  /** Weight of the token in the loss, of either sign. */
  readonly advantage: number;
  /** Output of the value head before it. Absent for a model without one, as the next two. */
  readonly value?: number | undefined;
  /** The return that the value head should predict. */
  readonly valueTarget?: number | undefined;
  /** Output of the value head when the batch was planned. */
  readonly samplingValue?: number | undefined;
}

/** Sums over trained tokens for the metrics of a batch. */
export class BatchMetrics {
  readonly #loss: NamedLoss;
  #tokens = 0;
  #references = 0;
  #entropies = 0;
  #clipped = 0;
  #maxRatio = 0;
  #maxGap = 0;
  readonly #sums = { logprob: 0, entropy: 0, kl: 0, kl3: 0, referenceKl: 0, gap: 0, ratio: 0, squaredRatio: 0 };
  readonly #critic = { tokens: 0, error: 0, clipped: 0 };

  constructor(loss: NamedLoss) {
    this.#loss = loss;
  }

  /** Counts the trained tokens of one datum. */
  addSequence(tokens: readonly MeasuredToken[]): void {
    const differences = tokens.map(({ logprob, samplingLogprob }) => logprob - samplingLogprob);
    const meanRatio = Math.exp(differences.reduce((sum, difference) => sum + difference, 0) / tokens.length);
    for (const token of tokens) this.#add(token, meanRatio);
  }

  #add(token: MeasuredToken, meanRatio: number): void {
    const difference = token.logprob - token.samplingLogprob;
    const ratio = Math.exp(bounded(difference));
    const sums = this.#sums;
    this.#tokens += 1;
    sums.logprob += token.logprob;
    if (token.entropy !== undefined) {
      sums.entropy += token.entropy;
      this.#entropies += 1;
    }
    sums.kl -= difference;
    sums.kl3 += ratio - 1 - difference;
    sums.gap += Math.abs(difference);
    sums.ratio += ratio;
    sums.squaredRatio += ratio * ratio;
    this.#maxRatio = Math.max(this.#maxRatio, ratio);
    this.#maxGap = Math.max(this.#maxGap, Math.abs(difference));
    const clippedRatio = this.#loss.name === 'gspo' ? meanRatio : ratio;
    if (this.#isClipped(clippedRatio, token.advantage)) this.#clipped += 1;
    this.#addValue(token);
    if (token.referenceLogprob === undefined) return;
    const toReference = bounded(token.logprob - token.referenceLogprob);
    this.#references += 1;
    sums.referenceKl += Math.exp(-toReference) + toReference - 1;
  }

  #addValue({ value, valueTarget, samplingValue }: MeasuredToken): void {
    if (value === undefined || valueTarget === undefined) return;
    const critic = this.#critic;
    critic.tokens += 1;
    critic.error += (value - valueTarget) ** 2;
    const clip = this.#loss.parameters['value_clip'] ?? 0;
    if (clip === 0 || samplingValue === undefined) return;
    const held = Math.min(Math.max(value, samplingValue - clip), samplingValue + clip);
    if (Math.abs(held - valueTarget) > Math.abs(value - valueTarget)) critic.clipped += 1;
  }

  /** The number of counted tokens. */
  get trainedTokens(): number {
    return this.#tokens;
  }

  /** Means over trained tokens, named as in the runtime contract; empty without tokens. */
  summary(): Readonly<Record<string, number>> {
    const count = this.#tokens;
    if (count === 0) return {};
    const { logprob, entropy, kl, kl3, gap, ratio, squaredRatio, referenceKl } = this.#sums;
    const critic = this.#critic;
    return {
      [runMetrics.policyLogprob.name]: logprob / count,
      ...(this.#entropies > 0 && { [runMetrics.policyEntropy.name]: entropy / this.#entropies }),
      [runMetrics.policyKlSampler.name]: kl / count,
      [runMetrics.policyKlSamplerK3.name]: kl3 / count,
      [runMetrics.policyLogprobGap.name]: gap / count,
      [runMetrics.policyLogprobGapMax.name]: this.#maxGap,
      [runMetrics.policyRatioMean.name]: ratio / count,
      [runMetrics.policyRatioMax.name]: this.#maxRatio,
      [runMetrics.policyClipFraction.name]: this.#clipped / count,
      /** 1 when every token counts the same, towards 1/n when one outweighs all others (Kish 1965). */
      [runMetrics.policyEffectiveSampleFraction.name]: (ratio * ratio) / (count * squaredRatio),
      ...(this.#references > 0 && { [runMetrics.policyKlReference.name]: referenceKl / this.#references }),
      ...(critic.tokens > 0 && {
        [runMetrics.valueError.name]: critic.error / critic.tokens,
        [runMetrics.valueClipFraction.name]: critic.clipped / critic.tokens,
      }),
    };
  }

  /** Whether the clip is active: for `cispo` wherever it bounds the ratio, else only where it changes the loss. */
  #isClipped(ratio: number, advantage: number): boolean {
    const { clip_low: low, clip_high: high } = this.#loss.parameters;
    if (low === undefined || high === undefined) return false;
    const isAbove = ratio > 1 + high;
    const isBelow = ratio < 1 - low;
    if (this.#loss.name === 'cispo') return isAbove || isBelow;
    return advantage > 0 ? isAbove : advantage < 0 && isBelow;
  }
}

/** The log-ratio, clamped as in the losses: one outlier would dominate the mean. */
function bounded(logRatio: number): number {
  return Math.min(maxLogRatio, Math.max(-maxLogRatio, logRatio));
}
