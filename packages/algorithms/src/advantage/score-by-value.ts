import type { Trajectory, TrajectoryRow } from '@agentlightning/core';
import type { RowColumns } from '../training-batch/training-datum.ts';
import type { ScoresByRow } from '../trajectory/row-scores.ts';
import { type EstimatedRow, estimateByValue, type ValueScoring } from './estimate-by-value.ts';
import { placedTurns } from './placed-turns.ts';
import { mean, standardDeviation } from './sample-statistics.ts';
import type { ScoredTrajectories } from './score-trajectories.ts';
import { whiteningByTokens } from './whiten-by-tokens.ts';

/** Trajectories with an advantage for each token. */
export interface ValuedTrajectories extends ScoredTrajectories {
  /** Of each row: advantages, the returns for the value head to learn, and what it said. */
  readonly columns: ReadonlyMap<TrajectoryRow, RowColumns>;
  /** `value/mean`, `value/target_mean`, `value/explained_variance`, and `advantage/std` before whitening, over tokens. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Gives every sampled token its advantage over what the value head expected (`generalizedAdvantages`), through all turns of
 * a rollout in their order. A step is a sampled token: what the environment said in between takes no time. A reward
 * comes right after the last token of its turn. The choices of one call are alternatives: each goes on with the next turn.
 *
 * Where the end of a rollout was cut off, the last token that is left only tells what was to be expected from there on: it
 * is not trained on, and rewards that came after it do not count (PPO's truncated estimate, arXiv 1707.06347, equation 11).
 *
 * The value head learns `A_t + V(s_t)`, before advantages are whitened.
 *
 * @param scores - with what the value head said of each token
 */
export function scoreByValue(
  trajectories: readonly Trajectory[],
  scores: ScoresByRow,
  scoring: ValueScoring,
): ValuedTrajectories {
  const rewarded = trajectories.filter((trajectory) => isRewarded(trajectory, scoring));
  const rows = rewarded.flatMap((trajectory) => estimateByValue(trajectory, scores, scoring));
  const tokens = rows.flatMap(trainedTokens);
  const advantages = tokens.map(({ advantage }) => advantage);
  const whiten = scoring.gae.whiten === false ? identity : whitening(advantages);
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
    metrics: valueMetrics(tokens),
  };
}

function isRewarded({ reward, rows }: Trajectory, { rewards }: ValueScoring): boolean {
  if (reward !== null) return true;
  return rewards === 'per-turn' && rows.some((row) => row.trained.some((turn) => turn.reward !== null));
}

interface ValuedToken {
  readonly value: number;
  readonly advantage: number;
}

function trainedTokens({ values, advantages, isTrained }: EstimatedRow): readonly ValuedToken[] {
  return [...isTrained].flatMap((trained, token) =>
    trained === 0 ? [] : [{ value: values[token] ?? 0, advantage: advantages[token] ?? 0 }],
  );
}

function columnsOf({ values, advantages, isTrained }: EstimatedRow, whiten: (value: number) => number): RowColumns {
  return {
    advantages: Float32Array.from(advantages, whiten),
    valueTargets: Float32Array.from(advantages, (advantage, token) => advantage + (values[token] ?? 0)),
    samplingValues: Float32Array.from(values),
    ...(isTrained.includes(0) ? { weightFactors: Float32Array.from(isTrained) } : {}),
  };
}

/** What a turn's tokens have on average: says that it is trained on, and is what the metrics of a step are about. */
function meansOfTurns(row: TrajectoryRow, advantages: Float32Array = new Float32Array()): readonly number[] {
  return placedTurns(row).map(({ from, to }) => mean([...advantages.subarray(from, to)]));
}

/** Equal advantages say nothing, and are all 0 then. */
function whitening(advantages: readonly number[]): (value: number) => number {
  if (advantages.length < 2) return identity;
  return whiteningByTokens(advantages.map((value) => ({ value, trainedTokens: 1 })));
}

function identity(value: number): number {
  return value;
}

function valueMetrics(tokens: readonly ValuedToken[]): Readonly<Record<string, number>> {
  if (tokens.length === 0) return {};
  const deviation = standardDeviation(tokens.map(({ advantage }) => advantage));
  const targets = tokens.map(({ value, advantage }) => value + advantage);
  const variance = standardDeviation(targets) ** 2;
  return {
    'advantage/std': deviation,
    'value/mean': mean(tokens.map(({ value }) => value)),
    'value/target_mean': mean(targets),
    ...(variance > 0 ? { 'value/explained_variance': 1 - deviation ** 2 / variance } : {}),
  };
}
