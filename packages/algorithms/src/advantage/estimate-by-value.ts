import type { Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';
import { type KlPenalty, klEstimate } from '../base/kl-estimate.ts';
import { turnRewards } from '../credit-assignment/per-turn-credit.ts';
import type { ScoresByRow } from '../rows/row-scores.ts';
import type { GaeOptions } from './gae-options.ts';
import { generalizedAdvantages, nothingAhead, type TokensAhead } from './generalized-advantages.ts';
import { type PlacedTurn, turnsLastFirst } from './placed-turns.ts';
import { mean } from './sample-statistics.ts';

/** Rewards and parameters of the estimate. */
export interface ValueScoring {
  readonly gae: GaeOptions;
  /** Whether turns have their own rewards, or the only reward is the rollout's, after its last turn. */
  readonly rewards: 'terminal' | 'per-turn';
  /** KL penalty in the rewards: `β·kl(log q_t - log ref_t)` is subtracted from the reward of each token. */
  readonly kl: KlPenalty;
}

/** The estimates of one row, an entry for each sampled token. */
export interface EstimatedRow {
  readonly row: TrajectoryRow;
  /** The value predicted before the token. */
  readonly values: Float64Array;
  readonly advantages: Float64Array;
  /** 0 for a token whose value only bootstraps the token before it. */
  readonly isTrained: Uint8Array;
}

/**
 * Estimates the advantage of every sampled token of a rollout, through all its turns in their order, the last one first
 * since each token needs the next. The rules are those of `scoreByValue`.
 *
 * @param scores - including the value head's prediction for each token
 */
export function estimateByValue(
  trajectory: Trajectory,
  scores: ScoresByRow,
  scoring: ValueScoring,
): readonly EstimatedRow[] {
  const rows = new Map(trajectory.rows.map((row) => [row, emptyEstimate(row, scores)]));
  const turns = turnsLastFirst(trajectory);
  const rewards = new Map(scoring.rewards === 'per-turn' ? turnRewards(trajectory) : outcome(trajectory, turns));
  let ahead: TokensAhead = nothingAhead;
  for (const [index, choices] of turns.entries()) {
    const isCut = index === 0 && trajectory.isTruncated === true;
    const starts = choices.flatMap((turn) => {
      const estimated = rows.get(turn.row);
      if (estimated === undefined) return [];
      const given = penalties(turn, scores, scoring.kl);
      if (isCut) return [estimateCutTurn(estimated, turn, { rewards: given, scoring })];
      given[given.length - 1] = (given.at(-1) ?? 0) + (rewards.get(turn.sequenceId) ?? 0);
      return [estimateTurn(estimated, turn, { rewards: given, scoring, ahead })];
    });
    // The choices of one call begin in one state; which of them was continued is not known.
    ahead = {
      value: mean(starts.map(({ value }) => value)),
      advantage: mean(starts.map(({ advantage }) => advantage)),
    };
  }
  return [...rows.values()];
}

interface TurnToEstimate {
  /** The reward received right after each token. */
  readonly rewards: readonly number[];
  readonly scoring: ValueScoring;
}

/** Fills in the advantages of a turn. Returns the value and the advantage at its first token. */
function estimateTurn(
  { values, advantages }: EstimatedRow,
  { from, to }: Pick<PlacedTurn, 'from' | 'to'>,
  { rewards, scoring, ahead }: TurnToEstimate & { readonly ahead: TokensAhead },
): TokensAhead {
  const { discount = 1, lambda = 1 } = scoring.gae;
  const tokens = { rewards, values: values.subarray(from, to) };
  const estimated = generalizedAdvantages(tokens, ahead, { discount, lambda });
  advantages.set(estimated, from);
  return { value: values[from] ?? 0, advantage: estimated[0] ?? 0 };
}

/** The value before the last token replaces all later rewards; the token itself gets no advantage. */
function estimateCutTurn(row: EstimatedRow, { from, to }: PlacedTurn, turn: TurnToEstimate): TokensAhead {
  const last = to - 1;
  row.isTrained[last] = 0;
  const ahead = { value: row.values[last] ?? 0, advantage: 0 };
  return estimateTurn(row, { from, to: last }, { ...turn, ahead });
}

function emptyEstimate(row: TrajectoryRow, scores: ScoresByRow): EstimatedRow {
  const tokens = row.samplingLogprobs.length;
  const critic = scores.get(row)?.critic ?? null;
  return {
    row,
    values: critic === null ? new Float64Array(tokens) : new Float64Array(critic),
    advantages: new Float64Array(tokens),
    isTrained: new Uint8Array(tokens).fill(1),
  };
}

function outcome(
  { reward }: Trajectory,
  turns: readonly (readonly PlacedTurn[])[],
): readonly (readonly [number, number | null])[] {
  return (turns[0] ?? []).map(({ sequenceId }) => [sequenceId, reward]);
}

/** The KL penalty of each token of a turn. */
function penalties(
  { row, from, to }: PlacedTurn,
  scores: ScoresByRow,
  { coefficient, estimator }: KlPenalty,
): number[] {
  const reference = coefficient === 0 ? null : (scores.get(row)?.reference ?? null);
  return row.samplingLogprobs
    .slice(from, to)
    .map((logprob, token) =>
      reference === null ? 0 : -coefficient * klEstimate(logprob - (reference[from + token] ?? 0), estimator),
    );
}
