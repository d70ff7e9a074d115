import type {
  AdvantageEstimator,
  Algorithm,
  CollectedGroup,
  CreditAssignment,
  ModelUpdate,
  ScoringPolicy,
  StepContext,
  Trajectory,
} from '@agentlightning/core';
import { AgentLightningError } from '@agentlightning/core';
import { advantageEstimator } from '../advantage/advantage-options.ts';
import { type ScoredTrajectories, scoreTrajectories } from '../advantage/score-trajectories.ts';
import { creditAssignment } from '../credit-assignment/credit-assignment-options.ts';
import { rewardAnnotations } from '../intermediate-reward/reward-annotations.ts';
import { stepMetrics } from '../step/step-metrics.ts';
import { adamOf, batchLimit, collectStep } from '../step/step-options.ts';
import { minibatches } from '../training-batch/minibatches.ts';
import { trainingBatches } from '../training-batch/training-batches.ts';
import { type ScoresByRow, scoresByRow, scoringData } from '../trajectory/row-scores.ts';
import { withKlPenalty } from './kl-penalty.ts';
import { leaveOutConstantGroups } from './leave-out-constant-groups.ts';
import { leaveOutStale } from './leave-out-stale.ts';
import { lossSpec } from './loss-options.ts';
import { withOverlongPenalty } from './overlong-penalty.ts';
import type { PolicyGradientOptions } from './policy-gradient-options.ts';
import { sampleTurns } from './sample-turns.ts';
import { correctedColumns, samplerMetrics } from './sampler-columns.ts';

/**
 * The algorithm that all policy-gradient recipes are settings of: rollouts become trajectories, credit assignment and
 * estimator make advantages of their rewards, weights average them, and the runtime gets batches with a named loss.
 *
 * @param name - the recipe's name
 * @param settings - checked options, the recipe's defaults filled in
 */
export function policyGradient(name: string, settings: PolicyGradientOptions): Algorithm {
  const plan = new PolicyGradientPlan(name, settings);
  const policies = plan.scoringPolicies;
  return {
    name,
    groupSize: settings.groupSize ?? 8,
    ...(policies.length === 0
      ? {}
      : {
          scoring: (groups, { policyVersion }) => {
            const data = scoringData(collectStep(groups, settings).trajectories, policyVersion);
            return data.length === 0 ? null : { policies, data };
          },
        }),
    ...(settings.intermediateRewards === undefined
      ? {}
      : { annotate: (rollout) => rewardAnnotations(rollout, settings.intermediateRewards ?? []) }),
    planStep: (groups, context) => plan.make(groups, context),
  };
}

/** Where the KL term is, and how it is estimated. */
function klOf(settings: PolicyGradientOptions): { readonly inLoss: number; readonly inReward: number } {
  const { klCoefficient = 0, klPlacement = 'loss' } = settings;
  return klPlacement === 'loss' ? { inLoss: klCoefficient, inReward: 0 } : { inLoss: 0, inReward: klCoefficient };
}

class PolicyGradientPlan {
  readonly scoringPolicies: readonly ScoringPolicy[];
  readonly #name: string;
  readonly #settings: PolicyGradientOptions;
  readonly #credit: CreditAssignment;
  readonly #estimator: AdvantageEstimator;

  constructor(name: string, settings: PolicyGradientOptions) {
    this.#name = name;
    this.#settings = settings;
    this.#credit = creditOf(settings);
    this.#estimator = estimatorOf(settings);
    const { samplerCorrection } = settings;
    this.scoringPolicies = [
      ...(samplerCorrection === undefined ? [] : (['current'] as const)),
      ...(klOf(settings).inReward > 0 ? (['reference'] as const) : []),
    ];
  }

  make(groups: readonly CollectedGroup[], context: StepContext): ReturnType<Algorithm['planStep']> {
    const settings = this.#settings;
    const collected = collectStep(groups, settings);
    const scores = this.#scoresOf(collected.trajectories, context);
    const compared = this.#compare(collected.trajectories, scores);
    const fresh = leaveOutStale(compared.scored, context.policyVersion, settings.maxStaleness ?? Infinity);
    const sampled = sampleTurns(fresh.scored, settings.maxTurns ?? Infinity, context.seed);
    const trained = settings.dropConstantGroups === true ? leaveOutConstantGroups(sampled.scored) : sampled.scored;
    const optimizer = adamOf(settings, context);
    const { epochs = 1, minibatches: parts = 1, samplerCorrection = null } = settings;
    const updates = minibatches(trained, { epochs, minibatches: parts, seed: context.seed }).map(
      (part): ModelUpdate => ({
        batches: trainingBatches(part, {
          aggregation: settings.aggregation ?? 'token-mean',
          keepZeroAdvantages: (settings.entropyCoefficient ?? 0) > 0 || klOf(settings).inLoss > 0,
          currentPolicyVersion: context.policyVersion,
          maxBatchTokens: batchLimit(settings, context),
          ...(samplerCorrection === null ? {} : { columnsOf: correctedColumns(scores, samplerCorrection) }),
        }),
        loss: lossSpec({ ...settings, klCoefficient: klOf(settings).inLoss }),
        optimizer,
      }),
    );
    return {
      updates: updates.filter(({ batches }) => batches.length > 0),
      metrics: {
        ...stepMetrics(collected, { ...compared, scored: sampled.scored }, context),
        ...(settings.maxStaleness === undefined ? {} : { 'staleness/turns_left_out': fresh.staleTurns }),
        ...(settings.maxTurns === undefined ? {} : { 'turns/left_out': sampled.leftOut }),
        ...(samplerCorrection === null ? {} : samplerMetrics(trained, scores, samplerCorrection)),
        'optim/learning_rate': optimizer.learningRate,
      },
    };
  }

  /** The reward stays what it was in the metrics; what is compared may be it with penalties. */
  #compare(trajectories: readonly Trajectory[], scores: ScoresByRow): ScoredTrajectories {
    const { overlongPenalty } = this.#settings;
    const { inReward } = klOf(this.#settings);
    const shaped = trajectories.map((trajectory) => {
      const penalised = withKlPenalty(trajectory, scores, inReward);
      return overlongPenalty === undefined ? penalised : withOverlongPenalty(penalised, overlongPenalty);
    });
    return scoreTrajectories(shaped, this.#credit, this.#estimator);
  }

  #scoresOf(trajectories: readonly Trajectory[], { scores }: StepContext): ScoresByRow {
    const hasRows = trajectories.some(({ rows }) => rows.length > 0);
    const missing = hasRows ? this.scoringPolicies.filter((policy) => scores?.[policy] === undefined) : [];
    if (missing.length === 0) return hasRows && scores !== undefined ? scoresByRow(trajectories, scores) : new Map();
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `The algorithm ${this.#name} needs the log-probabilities of the ${missing.join(' and the ')} policy, and got none`,
      remedy: 'Ask `algorithm.scoring(groups, context)` first, and give its answer to `planStep` as `context.scores`.',
    });
  }
}

function creditOf({ creditAssignment: given = { type: 'terminal' } }: PolicyGradientOptions): CreditAssignment {
  return 'assign' in given ? given : creditAssignment(given);
}

function estimatorOf({ advantage: given = { type: 'grpo' } }: PolicyGradientOptions): AdvantageEstimator {
  return 'estimate' in given ? given : advantageEstimator(given);
}
