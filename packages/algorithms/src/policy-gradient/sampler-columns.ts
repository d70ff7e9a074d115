import type { TrajectoryRow } from '@agentlightning/core/algorithm';
import { runMetrics } from '@agentlightning/core/metrics';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import type { ScoresByRow } from '../rows/row-scores.ts';
import { type RowColumns, trainedTokens } from '../rows/training-datum.ts';
import { boundsOf, correctionFactors, type SamplerCorrection, samplerRatios } from '../sampler-correction.ts';

/**
 * The columns that a sampler correction adds to a row. The probability ratio of the loss is then relative to the weights in
 * training, and the token weights contain the ratio of these to the sampler, so no difference is corrected twice.
 *
 * @param trained - the trajectories; advantages of turns that are not trained on are null
 */
export function correctedColumns(
  trained: readonly ScoredTrajectory[],
  scores: ScoresByRow,
  correction: SamplerCorrection,
): (row: TrajectoryRow) => RowColumns {
  const advantagesOf = new Map(
    trained.flatMap(({ trajectory, advantages }) =>
      trajectory.rows.map((row, index) => [row, advantages[index] ?? []] as const),
    ),
  );
  return (row) => {
    const current = scores.get(row)?.current ?? null;
    if (current === null) return {};
    const ratios = ratiosOf(row, current, { isTrained: trainedTokens(row, advantagesOf.get(row) ?? []), correction });
    return { oldLogprobs: current, weightFactors: correctionFactors(ratios, correction) };
  };
}

function ratiosOf(
  row: TrajectoryRow,
  current: Float32Array,
  { isTrained, correction }: { readonly isTrained: readonly boolean[]; readonly correction: SamplerCorrection },
): Float64Array {
  const options = { level: correction.level, isTrained: (token: number): boolean => isTrained[token] === true };
  return samplerRatios(current, row.samplingLogprobs, options);
}

/**
 * Difference between the sampler and the weights in training, over the trained tokens: mean `|Δlogp|`, the KL divergence by
 * k1 and k3 in nats, the effective sample fraction of the factors `1 / mean((w / mean(w))²)` (Kish 1965), and the fraction
 * of truncated or masked tokens. `sampler/current_logprob_gap` is mean `|Δlogp|` over the tokens that the current weights have
 * sampled: it is near 0, or sampler and trainer disagree. Empty without scores.
 *
 * @param policyVersion - of the current weights; unknown versions count as it
 */
export function samplerMetrics(
  trained: readonly ScoredTrajectory[],
  scores: ScoresByRow,
  { correction, policyVersion }: { readonly correction: SamplerCorrection; readonly policyVersion: number },
): Readonly<Record<string, number>> {
  const sums = {
    currentTokens: 0,
    currentGap: 0,
    tokens: 0,
    gap: 0,
    k1: 0,
    k3: 0,
    factor: 0,
    squaredFactor: 0,
    bounded: 0,
  };
  const rows = trained.flatMap(({ trajectory, advantages }) =>
    trajectory.rows.map((row, index) => ({ row, isTrained: trainedTokens(row, advantages[index] ?? []) })),
  );
  for (const { row, isTrained } of rows) {
    const current = scores.get(row)?.current ?? null;
    if (current === null) continue;
    const ratios = ratiosOf(row, current, { isTrained, correction });
    const factors = correctionFactors(ratios, correction);
    const { min, max } = boundsOf(correction);
    const versions = tokenVersions(row);
    for (const [token, ratio] of ratios.entries()) {
      if (isTrained[token] !== true) continue;
      const difference = (current[token] ?? 0) - (row.samplingLogprobs[token] ?? 0);
      const factor = factors[token] ?? 0;
      sums.tokens += 1;
      sums.gap += Math.abs(difference);
      if ((versions[token] ?? policyVersion) >= policyVersion) {
        sums.currentTokens += 1;
        sums.currentGap += Math.abs(difference);
      }
      sums.k1 -= difference;
      sums.k3 += Math.exp(Math.min(20, difference)) - difference - 1;
      sums.factor += factor;
      sums.squaredFactor += factor * factor;
      if (ratio > max || ratio < min) sums.bounded += 1;
    }
  }
  const { tokens } = sums;
  if (tokens === 0) return {};
  return {
    [runMetrics.samplerLogprobGap.name]: sums.gap / tokens,
    ...(sums.currentTokens > 0
      ? { [runMetrics.samplerCurrentLogprobGap.name]: sums.currentGap / sums.currentTokens }
      : {}),
    [runMetrics.samplerKlK1.name]: sums.k1 / tokens,
    [runMetrics.samplerKlK3.name]: sums.k3 / tokens,
    [runMetrics.samplerBoundedFraction.name]: sums.bounded / tokens,
    ...(sums.squaredFactor > 0
      ? {
          [runMetrics.samplerEffectiveSampleFraction.name]: (sums.factor * sums.factor) / (tokens * sums.squaredFactor),
        }
      : {}),
  };
}

/** The policy version of each sampled token of a row; null when unknown. */
function tokenVersions({ trained }: TrajectoryRow): readonly (number | null)[] {
  return trained.flatMap(({ start, end, policyVersion, policyVersions }) =>
    Array.from({ length: end - start }, (_, token) => policyVersions?.[token] ?? policyVersion),
  );
}
