import type { Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';
import { runMetrics } from '@agentlightning/core/metrics';
import type { ScoresByRow } from '../rows/row-scores.ts';
import type { RowColumns } from '../rows/training-datum.ts';
import { type EstimatedRow, estimateByValue, type ValueScoring } from './estimate-by-value.ts';
import { placedTurns } from './placed-turns.ts';
import type { ScoredTrajectories } from './score-trajectories.ts';
import { whiteningEpsilon } from './whiten-by-tokens.ts';

/** The trajectories of a step with their advantages and per-token estimates. */
export interface ValuedTrajectories extends ScoredTrajectories {
  /** By row; with a value head: advantages, value targets and predicted values. */
  readonly columns: ReadonlyMap<TrajectoryRow, RowColumns>;
  /** With a value head: `value/mean`, `value/target_mean`, `value/explained_variance`, and `advantage/std` before whitening. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Computes the advantage of every sampled token relative to the value head (`generalizedAdvantages`), over all turns of a
 * rollout in order. A time step is a sampled token; tokens of the environment are not time steps. A reward follows the last
 * token of its turn. The choices of one call are alternatives: each is followed by the next turn.
 *
 * When the end of a rollout was cut off, the last remaining token provides the bootstrap value: it is not trained on, and
 * later rewards are ignored (PPO's truncated estimate, arXiv 1707.06347, equation 11).
 *
 * The value head learns `A_t + V(s_t)`, before advantages are whitened.
 *
 * @param scores - including the value head's prediction for each token
 */
export function scoreByValue(
  trajectories: readonly Trajectory[],
  scores: ScoresByRow,
  scoring: ValueScoring,
): ValuedTrajectories {
  const rewarded = trajectories.filter((trajectory) => isRewarded(trajectory, scoring));
  const rows = rewarded.flatMap((trajectory) => estimateByValue(trajectory, scores, scoring));
  const statistics = tokenStatistics(rows);
  const whiten = scoring.gae.whiten === false ? identity : whitening(statistics);
  const columns = new Map(rows.map((row) => [row.row, columnsOf(row, whiten)]));
  return {
    scored: rewarded.map((trajectory) => ({
      trajectory,
      advantages: trajectory.rows.map((row) => meansOfTurns(row, columns.get(row)?.advantages)),
    })),
    withoutReturn: trajectories.length - rewarded.length,
    singletonGroups: 0,
    constantGroups: 0,
    columns,
    metrics: valueMetrics(statistics),
  };
}

function isRewarded({ reward, rows }: Trajectory, { rewards }: ValueScoring): boolean {
  if (reward !== null) return true;
  return rewards === 'per-turn' && rows.some((row) => row.trained.some((turn) => turn.reward !== null));
}

function columnsOf({ values, advantages, isTrained }: EstimatedRow, whiten: (value: number) => number): RowColumns {
  return {
    advantages: new Float32Array(advantages.map(whiten)),
    valueTargets: new Float32Array(advantages.map((advantage, token) => advantage + (values[token] ?? 0))),
    samplingValues: new Float32Array(values),
    ...(isTrained.includes(0) ? { weightFactors: new Float32Array(isTrained) } : {}),
  };
}

/** Mean advantage of each turn, for the metrics of the step. */
function meansOfTurns(row: TrajectoryRow, advantages: Float32Array = new Float32Array()): readonly number[] {
  return placedTurns(row).map(({ from, to }) => {
    const sum = advantages.subarray(from, to).reduce((total, advantage) => total + advantage, 0);
    return sum / (to - from);
  });
}

/**
 * Scales to mean 0 and variance 1 over tokens; equal advantages become exactly 0, regardless of rounding.
 *
 * Where advantages vary more than the value targets do, the excess is error of the value head: with equal rewards it is all
 * that remains, and variance 1 would make it as large as the signal of an unsolved task. The standard deviation is then that
 * of the targets, as a share of that of the advantages: `σ_target / σ_advantage`, at most 1.
 */
function whitening({
  tokens,
  meanAdvantage,
  advantageVariance,
  targetVariance,
}: TokenStatistics): (value: number) => number {
  if (tokens < 2) return identity;
  if (advantageVariance < roundingVariance) return () => 0;
  const signal = Math.min(1, Math.sqrt(targetVariance / advantageVariance));
  const scale = signal / Math.sqrt(advantageVariance + whiteningEpsilon);
  return (value) => (value - meanAdvantage) * scale;
}

/** Square of the rounding error of sums of a million equal numbers. */
const roundingVariance = 1e-18;

function identity(value: number): number {
  return value;
}

function valueMetrics(statistics: TokenStatistics): Readonly<Record<string, number>> {
  const { tokens, advantageVariance, targetVariance, meanValue, meanTarget } = statistics;
  if (tokens === 0) return {};
  return {
    [runMetrics.advantageStd.name]: Math.sqrt(advantageVariance),
    [runMetrics.valueMean.name]: meanValue,
    [runMetrics.valueTargetMean.name]: meanTarget,
    ...(targetVariance > 0 ? { [runMetrics.valueExplainedVariance.name]: 1 - advantageVariance / targetVariance } : {}),
  };
}

/** Means and sample variances (`n - 1`) over the trained tokens; 0 with too few tokens. */
interface TokenStatistics {
  readonly tokens: number;
  readonly meanAdvantage: number;
  readonly advantageVariance: number;
  readonly meanValue: number;
  /** Mean of the value targets, `A + V`. */
  readonly meanTarget: number;
  readonly targetVariance: number;
}

/** Two passes over the tokens without an allocation per token: a step may have millions. */
function tokenStatistics(rows: readonly EstimatedRow[]): TokenStatistics {
  const sums = { tokens: 0, advantage: 0, value: 0 };
  forEachToken(rows, (advantage, value) => {
    sums.tokens += 1;
    sums.advantage += advantage;
    sums.value += value;
  });
  const { tokens } = sums;
  const meanOf = (sum: number): number => (tokens === 0 ? 0 : sum / tokens);
  const meanAdvantage = meanOf(sums.advantage);
  const meanTarget = meanOf(sums.advantage + sums.value);
  const squares = { advantage: 0, target: 0 };
  forEachToken(rows, (advantage, value) => {
    squares.advantage += (advantage - meanAdvantage) ** 2;
    squares.target += (advantage + value - meanTarget) ** 2;
  });
  const varianceOf = (sum: number): number => (tokens < 2 ? 0 : sum / (tokens - 1));
  return {
    tokens,
    meanAdvantage,
    advantageVariance: varianceOf(squares.advantage),
    meanValue: meanOf(sums.value),
    meanTarget,
    targetVariance: varianceOf(squares.target),
  };
}

function forEachToken(rows: readonly EstimatedRow[], visit: (advantage: number, value: number) => void): void {
  for (const { advantages, values, isTrained } of rows) {
    for (let token = 0; token < advantages.length; token += 1)
      if (isTrained[token] === 1) visit(advantages[token] ?? 0, values[token] ?? 0);
  }
}
