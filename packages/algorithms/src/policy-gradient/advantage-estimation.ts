import type { AdvantageEstimator, CreditAssignment, ScoringPolicy, Trajectory } from '@agentlightning/core/algorithm';
import { advantageEstimator } from '../advantage/advantage-options.ts';
import { type GaeOptions, isGae } from '../advantage/gae-options.ts';
import type { PlacedTurn } from '../advantage/placed-turns.ts';
import { scoreByValue, type ValuedTrajectories } from '../advantage/score-by-value.ts';
import { scoreTrajectories } from '../advantage/score-trajectories.ts';
import { type KlPenalty, klEstimate } from '../base/kl-estimate.ts';
import { creditAssignment } from '../credit-assignment/credit-assignment-options.ts';
import type { ScoresByRow } from '../rows/row-scores.ts';
import { overlongPenaltyOf } from './overlong-penalty.ts';
import { penalisedCredit } from './penalised-credit.ts';
import type { PolicyGradientOptions } from './policy-gradient-options.ts';

/** Estimation of advantages with the settings of a run. */
export interface AdvantageEstimation {
  /** Policies whose scores are required. */
  readonly scoringPolicies: readonly ScoringPolicy[];
  estimate(trajectories: readonly Trajectory[], scores: ScoresByRow): ValuedTrajectories;
}

/** The KL term: its coefficient in the loss, or the penalty in the reward. */
export function klOf(settings: PolicyGradientOptions): { readonly inLoss: number; readonly inReward: KlPenalty } {
  const { klCoefficient = 0, klPlacement = 'loss', klEstimator: estimator = 'k1' } = settings;
  return klPlacement === 'loss'
    ? { inLoss: klCoefficient, inReward: { coefficient: 0, estimator } }
    : { inLoss: 0, inReward: { coefficient: klCoefficient, estimator } };
}

/** The estimation for the settings: comparison within groups, or with a value head. */
export function advantageEstimationOf(settings: PolicyGradientOptions): AdvantageEstimation {
  const { advantage = { type: 'grpo' } } = settings;
  if (isGae(advantage)) return byValue(settings, advantage);
  return byComparison(settings, 'estimate' in advantage ? advantage : advantageEstimator(advantage));
}

function byComparison(settings: PolicyGradientOptions, estimator: AdvantageEstimator): AdvantageEstimation {
  const { inReward } = klOf(settings);
  const credit = creditOf(settings);
  return {
    scoringPolicies: policiesForKl(inReward),
    estimate: (trajectories, scores) => {
      const penalised = penalisedCredit(credit, {
        ofRollout: (trajectory) => overlongOf(trajectory, settings),
        ofTurn: (turn) => klPenaltyOf(turn, scores, inReward),
      });
      return { ...scoreTrajectories(trajectories, penalised, estimator), columns: new Map(), metrics: {} };
    },
  };
}

function byValue(settings: PolicyGradientOptions, gae: GaeOptions): AdvantageEstimation {
  const { creditAssignment: credit = { type: 'terminal' } } = settings;
  const rewards = 'type' in credit && credit.type === 'per-turn' ? 'per-turn' : 'terminal';
  const kl = klOf(settings).inReward;
  return {
    scoringPolicies: [...policiesForKl(kl), 'critic'],
    estimate: (trajectories, scores) => {
      const shaped = trajectories.map((trajectory) => shorten(trajectory, settings));
      return scoreByValue(shaped, scores, { gae, rewards, kl });
    },
  };
}

function policiesForKl({ coefficient }: KlPenalty): readonly ScoringPolicy[] {
  return coefficient > 0 ? ['reference'] : [];
}

/** Subtracts penalties from the reward that advantages are computed from; metrics keep the original reward. */
function shorten(trajectory: Trajectory, settings: PolicyGradientOptions): Trajectory {
  if (trajectory.reward === null) return trajectory;
  return { ...trajectory, reward: trajectory.reward - overlongOf(trajectory, settings) };
}

function overlongOf(trajectory: Trajectory, { overlongPenalty }: PolicyGradientOptions): number {
  return overlongPenalty === undefined ? 0 : overlongPenaltyOf(trajectory, overlongPenalty);
}

function creditOf({ creditAssignment: given = { type: 'terminal' } }: PolicyGradientOptions): CreditAssignment {
  return 'assign' in given ? given : creditAssignment(given);
}

/**
 * KL penalty of a turn's return: `β·Σ_t kl(log q_t - log ref_t)` over its tokens. In the reward, k1 and its gradient are
 * unbiased, while k1 as a loss term has an expected gradient of 0 (RLOO: arXiv 2402.14740; RLHF: arXiv 2203.02155). k2 and
 * k3 are at least 0 and biased.
 */
function klPenaltyOf({ row, from, to }: PlacedTurn, scores: ScoresByRow, penalty: KlPenalty): number {
  const reference = penalty.coefficient === 0 ? null : (scores.get(row)?.reference ?? null);
  if (reference === null) return 0;
  const divergence = row.samplingLogprobs
    .slice(from, to)
    .reduce((sum, logprob, token) => sum + klEstimate(logprob - (reference[from + token] ?? 0), penalty.estimator), 0);
  return penalty.coefficient * divergence;
}
