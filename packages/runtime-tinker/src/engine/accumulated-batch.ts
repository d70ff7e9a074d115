import { AgentLightningError } from '@agentlightning/core';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import type { ResolvedLoss } from '@agentlightning/runtime';
import { BatchMetrics, type MeasuredToken, referenceTokenLoss } from '@agentlightning/runtime/internal/losses';
import type { LossScale } from '../profile.ts';
import type { PassDatum } from '../wire/pass-messages.ts';

/** The gradient of a loss at the current weights, as data of a loss that every server has. */
export interface LinearisedDatum {
  readonly tokenIds: Int32Array;
  /** Positions of the trained tokens, in ascending order. */
  readonly positions: readonly number[];
  /** Log-probability of each trained token under the current weights. */
  readonly logprobs: Float32Array;
  /** Derivative of the loss by each of them, weighted. */
  readonly slopes: Float32Array;
}

/** A batch at the current weights. */
export interface LinearisedBatch {
  readonly loss: number;
  readonly trainedTokens: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly data: readonly LinearisedDatum[];
}

/** The positions of the trained tokens of a datum. */
export function trainedPositions({ trained }: TrainingDatum): readonly number[] {
  return trained.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, at) => start + at));
}

/** Slopes above this would overflow when a server squares them. */
const largestSlope = 1e18;

/**
 * Computes a loss and its derivative by the log-probabilities. Since the loss depends on the weights by them only, a policy gradient at the
 * ratio one with minus the derivative as its advantage has the same gradient, on any server and for any loss.
 *
 * @param logprobs - of the trained tokens under the current weights, an array for each datum
 * @throws AgentLightningError NON_FINITE when the loss or a derivative is not finite
 */
export function linearise(
  { data }: TrainingBatch,
  loss: ResolvedLoss,
  logprobs: readonly Float32Array[],
): LinearisedBatch {
  const metrics = new BatchMetrics(loss);
  let sum = 0;
  const linearised = data.map((datum, index): LinearisedDatum => {
    const known = logprobs[index] ?? new Float32Array();
    const tokens = measuredTokens(datum, known);
    metrics.addSequence(tokens.filter((_, at) => datum.weights[at] !== 0));
    const meanLogRatio = meanOf(
      tokens
        .filter((_, at) => datum.weights[at] !== 0)
        .map(({ logprob, samplingLogprob }) => logprob - samplingLogprob),
    );
    const slopes = Float32Array.from(tokens, (token, at) => {
      const weight = datum.weights[at] ?? 0;
      if (weight === 0) return 0;
      const { value, logprobSlope } = referenceTokenLoss(loss, { ...token, meanLogRatio, entropy: 0 });
      sum += weight * value;
      return weight * logprobSlope;
    });
    assertFinite(slopes, index);
    return { tokenIds: datum.tokenIds, positions: trainedPositions(datum), logprobs: known, slopes };
  });
  if (!Number.isFinite(sum)) throw nonFinite(`The loss of the batch is ${sum}`);
  return { loss: sum, trainedTokens: metrics.trainedTokens, metrics: metrics.summary(), data: linearised };
}

function measuredTokens(datum: TrainingDatum, logprobs: Float32Array): readonly MeasuredToken[] {
  return Array.from(logprobs, (logprob, at) => ({
    logprob,
    samplingLogprob: datum.samplingLogprobs[at] ?? 0,
    referenceLogprob: datum.referenceLogprobs?.[at],
    advantage: datum.advantages[at] ?? 0,
  }));
}

function meanOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function assertFinite(slopes: Float32Array, index: number): void {
  const wild = slopes.find((slope) => !(Math.abs(slope) <= largestSlope));
  if (wild !== undefined) throw nonFinite(`A derivative of datum ${index} is ${wild}`, index);
}

function nonFinite(message: string, datumIndex?: number): AgentLightningError {
  return new AgentLightningError({ code: 'NON_FINITE', message, details: { datumIndex } });
}

/**
 * The data of a step as the server expects them, so that its gradient is the plain sum. The means of tokens of a request are undone
 * where the requests are made.
 */
export function stepData(data: readonly LinearisedDatum[], scale: LossScale): readonly PassDatum[] {
  const useful = data.filter(({ slopes }) => slopes.some((slope) => slope !== 0));
  // A step without gradients is a step all the same: the optimizer has momentum.
  const sent = useful.length > 0 ? useful : data.slice(0, 1);
  return sent.map(({ tokenIds, positions, logprobs, slopes }) => {
    const factor = scale === 'sequence_means' ? positions.length * sent.length : 1;
    const column = (values: (at: number) => number): Float32Array => {
      const filled = new Float32Array(tokenIds.length - 1);
      for (const [at, position] of positions.entries()) filled[position - 1] = values(at);
      return filled;
    };
    return {
      tokenIds,
      inputs: {
        logprobs: column((at) => logprobs[at] ?? 0),
        advantages: column((at) => -(slopes[at] ?? 0) * factor),
        // Servers with plain sums refuse the mask.
        ...(scale === 'sum' ? {} : { weights: column(() => 1) }),
      },
    };
  });
}
