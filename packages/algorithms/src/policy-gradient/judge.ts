import type { AdvantageEstimator, CreditAssignment } from '@agentlightning/core';
import type { ScoringPolicy, Trajectory } from '@agentlightning/core/algorithm';
import { advantageEstimator } from '../advantage/advantage-options.ts';
import { type GaeOptions, isGae } from '../advantage/gae-options.ts';
import { scoreByValue, type ValuedTrajectories } from '../advantage/score-by-value.ts';
import { scoreTrajectories } from '../advantage/score-trajectories.ts';
import { creditAssignment } from '../credit-assignment/credit-assignment-options.ts';
import type { KlPenalty } from '../kl-estimate.ts';
import type { ScoresByRow } from '../trajectory/row-scores.ts';
import { klPenaltyOf } from './kl-penalty.ts';
import { overlongPenaltyOf } from './overlong-penalty.ts';
import { penalisedCredit } from './penalised-credit.ts';
import type { PolicyGradientOptions } from './policy-gradient-options.ts';

/** Estimates advantages. */
export interface Judge {
  /** Policies whose scores are required. */
  readonly asks: readonly ScoringPolicy[];
  judge(trajectories: readonly Trajectory[], scores: ScoresByRow): ValuedTrajectories;
}

/** The KL term: its coefficient in the loss, or the penalty in the reward. */
export function klOf(settings: PolicyGradientOptions): { readonly inLoss: number; readonly inReward: KlPenalty } {
  const { klCoefficient = 0, klPlacement = 'loss', klEstimator: estimator = 'k1' } = settings;
  return klPlacement === 'loss'
    ? { inLoss: klCoefficient, inReward: { coefficient: 0, estimator } }
    : { inLoss: 0, inReward: { coefficient: klCoefficient, estimator } };
}

/** The judge for the settings: comparison within groups, or with a value head. */
export function judgeOf(settings: PolicyGradientOptions): Judge {
  const { advantage = { type: 'grpo' } } = settings;
  if (isGae(advantage)) return byValue(settings, advantage);
  return byComparison(settings, 'estimate' in advantage ? advantage : advantageEstimator(advantage));
}

function byComparison(settings: PolicyGradientOptions, estimator: AdvantageEstimator): Judge {
  const { inReward } = klOf(settings);
  const credit = creditOf(settings);
  return {
    asks: askForKl(inReward),
    judge: (trajectories, scores) => {
      const penalised = penalisedCredit(credit, {
        ofRollout: (trajectory) => overlongOf(trajectory, settings),
        ofTurn: (turn) => klPenaltyOf(turn, scores, inReward),
      });
      return { ...scoreTrajectories(trajectories, penalised, estimator), columns: new Map(), metrics: {} };
    },
  };
}

function byValue(settings: PolicyGradientOptions, gae: GaeOptions): Judge {
  const { creditAssignment: credit = { type: 'terminal' } } = settings;
  const rewards = 'type' in credit && credit.type === 'per-turn' ? 'per-turn' : 'terminal';
  const kl = klOf(settings).inReward;
  return {
    asks: [...askForKl(kl), 'critic'],
    judge: (trajectories, scores) => {
      const shaped = trajectories.map((trajectory) => shorten(trajectory, settings));
      return scoreByValue(shaped, scores, { gae, rewards, kl });
    },
  };
}

function askForKl({ coefficient }: KlPenalty): readonly ScoringPolicy[] {
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
