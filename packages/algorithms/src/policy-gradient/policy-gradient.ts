import { AgentLightningError, type Algorithm } from '@agentlightning/core';
import type {
  CollectedGroup,
  ModelUpdate,
  ScoringPolicy,
  StepContext,
  Trajectory,
  TrajectoryRow,
} from '@agentlightning/core/algorithm';
import { runMetrics } from '@agentlightning/core/metrics';
import type { ValuedTrajectories } from '../advantage/score-by-value.ts';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { seededRandom, shuffled } from '../base/seeded-random.ts';
import { rewardAnnotations } from '../intermediate-reward/reward-annotations.ts';
import { type ScoresByRow, scoresByRow, scoringData } from '../rows/row-scores.ts';
import { mergedColumns, type RowColumns } from '../rows/training-datum.ts';
import { stepMetrics } from '../step/step-metrics.ts';
import { adamAt, batchLimit, collectStep, finalLearningRate } from '../step/step-options.ts';
import { Guidance, type GuidanceSettings, type GuidedStep } from '../teacher/guidance.ts';
import { minibatches, trainingBatches } from '../training-batch/training-batches.ts';
import { type AdvantageEstimation, advantageEstimationOf, klOf } from './advantage-estimation.ts';
import { attemptTrainings } from './attempt-trainings.ts';
import { hasGradientWithoutAdvantage, isEntropyOnly, lossSpec } from './loss-options.ts';
import type { PolicyGradientOptions } from './policy-gradient-options.ts';
import { correctedColumns, samplerMetrics } from './sampler-columns.ts';

/**
 * The implementation of all policy-gradient recipes: rollouts become trajectories, credit assignment and estimator compute
 * advantages from rewards, a teacher may add its own to each token, and the runtime gets weighted batches with a named loss.
 *
 * @param name - the recipe's name
 * @param settings - validated options with the recipe's defaults
 * @param guided - the guidance by a teacher; null without one
 */
export function policyGradient(
  name: string,
  settings: PolicyGradientOptions,
  guided: GuidanceSettings | null = null,
): Algorithm {
  const guidance = guided === null ? null : new Guidance(guided);
  const plan = new PolicyGradientPlan(name, settings, guidance);
  const policies = plan.scoringPolicies;
  return {
    name,
    groupSize: settings.groupSize ?? 8,
    ...(policies.includes('critic') ? { needsValueHead: true } : {}),
    ...(guidance === null ? {} : { teacher: guidance.teacher }),
    ...(guidance?.hasPrompts
      ? { teacherPrompts: (groups) => guidance.prompts(groups, collectStep(groups, settings).trajectories) }
      : {}),
    ...(policies.length === 0
      ? {}
      : {
          scoring: (groups, context) => {
            const { trajectories } = collectStep(groups, settings);
            const data = scoringData(trajectories, context.policyVersion);
            if (data.length === 0) return null;
            const step = guidance?.prepare(groups, trajectories, context);
            if (step === undefined) return { policies, data };
            return { policies, data, teacherData: scoringData(step.trajectories, context.policyVersion) };
          },
        }),
    ...(settings.intermediateRewards === undefined
      ? {}
      : { annotate: (rollout) => rewardAnnotations(rollout, settings) }),
    planStep: (groups, context) => plan.make(groups, context),
  };
}

const askedOf: Readonly<Record<ScoringPolicy, string>> = {
  current: 'the log-probabilities of the current policy',
  reference: 'the log-probabilities of the reference policy',
  critic: 'the values of the critic',
  teacher: 'the log-probabilities of the teacher',
};

class PolicyGradientPlan {
  readonly scoringPolicies: readonly ScoringPolicy[];
  readonly #name: string;
  readonly #settings: PolicyGradientOptions;
  readonly #estimation: AdvantageEstimation;
  readonly #guidance: Guidance | null;

  constructor(name: string, settings: PolicyGradientOptions, guidance: Guidance | null) {
    this.#name = name;
    this.#settings = settings;
    this.#estimation = advantageEstimationOf(settings);
    this.#guidance = guidance;
    // The teacher is compared with the weights in training, not with the sampler, whose arithmetic differs.
    const current = settings.samplerCorrection === undefined && guidance === null ? [] : (['current'] as const);
    const teacher = guidance === null ? [] : (['teacher'] as const);
    this.scoringPolicies = [...current, ...this.#estimation.scoringPolicies, ...teacher];
  }

  make(groups: readonly CollectedGroup[], context: StepContext): ReturnType<Algorithm['planStep']> {
    const settings = this.#settings;
    const collected = collectStep(groups, settings);
    const scores = this.#scoresOf(collected.trajectories, context);
    const judged = this.#judge(groups, { trajectories: collected.trajectories, scores }, context);
    const fresh = excludeStaleTurns(judged.scored, context.policyVersion, settings.maxStaleness ?? Infinity);
    const sampled = sampleTurns(fresh.scored, settings.maxTurns ?? Infinity, context.seed);
    const trained = settings.dropConstantGroups === true ? excludeConstantGroups(sampled.scored) : sampled.scored;
    const attempts = attemptTrainings({
      trajectories: collected.trajectories,
      stages: [
        { scored: judged.scored, exclusion: 'no-reward' },
        { scored: fresh.scored, exclusion: 'stale' },
        { scored: sampled.scored, exclusion: 'turn-limit' },
        { scored: trained, exclusion: 'constant-group' },
      ],
      columns: judged.columns,
      scores,
    });
    const { epochs = 1, minibatches: parts = 1, samplerCorrection = null } = settings;
    const loss = lossSpec(
      { ...settings, klCoefficient: klOf(settings).inLoss },
      this.scoringPolicies.includes('critic'),
    );
    const columnsOf = this.#columns(judged, trained, scores);
    const updates = minibatches(trained, { epochs, minibatches: parts, seed: context.seed }).map(
      (part, update, { length: updates }): ModelUpdate => ({
        batches: trainingBatches(part, {
          aggregation: settings.aggregation ?? 'token-mean',
          keepZeroAdvantages: hasGradientWithoutAdvantage(loss),
          currentPolicyVersion: context.policyVersion,
          maxBatchTokens: batchLimit(settings, context),
          columnsOf,
        }),
        loss,
        optimizer: adamAt(settings, { ...context, update, updates }),
      }),
    );
    return {
      updates: updates.filter((update) => update.batches.length > 0 && !isEntropyOnly(update)),
      metrics: {
        ...stepMetrics(collected, { ...judged, scored: sampled.scored }, context),
        ...judged.metrics,
        ...(settings.maxStaleness === undefined ? {} : { [runMetrics.stalenessTurnsLeftOut.name]: fresh.staleTurns }),
        ...(settings.maxTurns === undefined ? {} : { [runMetrics.turnsLeftOut.name]: sampled.leftOut }),
        ...(samplerCorrection === null
          ? {}
          : samplerMetrics(trained, scores, { correction: samplerCorrection, policyVersion: context.policyVersion })),
        [runMetrics.learningRate.name]: finalLearningRate(settings, context),
      },
      attempts,
    };
  }

  /** Advantages of the reward, with those of the teacher. */
  #judge(
    groups: readonly CollectedGroup[],
    { trajectories, scores }: { readonly trajectories: readonly Trajectory[]; readonly scores: ScoresByRow },
    context: StepContext,
  ): ValuedTrajectories {
    const judged = this.#estimation.estimate(trajectories, scores);
    const guided: GuidedStep | undefined = this.#guidance?.prepare(groups, trajectories, context);
    if (this.#guidance === null || guided === undefined) return judged;
    const teacher = context.scores?.teacher;
    return this.#guidance.apply(judged, guided, { step: trajectories, scores: { policy: scores, teacher } });
  }

  /** Per-token estimates, and sampler correction. */
  #columns(
    { columns }: ValuedTrajectories,
    trained: readonly ScoredTrajectory[],
    scores: ScoresByRow,
  ): (row: TrajectoryRow) => RowColumns {
    const { samplerCorrection } = this.#settings;
    if (samplerCorrection === undefined) return (row) => columns.get(row) ?? {};
    const corrected = correctedColumns(trained, scores, samplerCorrection);
    return (row) => mergedColumns(columns.get(row) ?? {}, corrected(row));
  }

  #scoresOf(trajectories: readonly Trajectory[], { scores }: StepContext): ScoresByRow {
    const hasRows = trajectories.some(({ rows }) => rows.length > 0);
    const missing = hasRows ? this.scoringPolicies.filter((policy) => scores?.[policy] === undefined) : [];
    if (missing.length === 0) {
      // The rows of the teacher differ.
      const { teacher: _teacher, ...ofRows } = scores ?? {};
      return hasRows ? scoresByRow(trajectories, ofRows) : new Map();
    }
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `The algorithm ${this.#name} needs ${missing.map((policy) => askedOf[policy]).join(' and ')}, but received none`,
      remedy:
        'Call `algorithm.scoring(groups, context)` first, score its data, and pass the scores to `planStep` as `context.scores`.',
    });
  }
}

/**
 * Excludes groups whose rollouts all have advantage 0, also from the averages of the loss (dynamic sampling: DAPO, arXiv
 * 2503.14476, section 3.2, without sampling replacements).
 */
function excludeConstantGroups(scored: readonly ScoredTrajectory[]): readonly ScoredTrajectory[] {
  const teaching = new Set(
    scored
      .filter(({ advantages }) => advantages.flat().some((advantage) => advantage !== null && advantage !== 0))
      .map(({ trajectory }) => trajectory.groupId),
  );
  return scored.filter(({ trajectory }) => teaching.has(trajectory.groupId));
}

/** Trajectories without their stale turns. */
interface FreshTrajectories {
  readonly scored: readonly ScoredTrajectory[];
  /** Number of turns excluded because their policy version was too old. */
  readonly staleTurns: number;
}

/**
 * Excludes turns sampled by a policy that is more than `maxStaleness` versions old. Advantages are computed before, so the
 * baseline of the other turns does not change. Turns of unknown version are kept.
 */
function excludeStaleTurns(
  scored: readonly ScoredTrajectory[],
  policyVersion: number,
  maxStaleness: number,
): FreshTrajectories {
  let staleTurns = 0;
  const fresh = scored.map(({ trajectory, advantages }) => ({
    trajectory,
    advantages: trajectory.rows.map((row, rowIndex) =>
      row.trained.map(({ policyVersion: sampledBy }, turn) => {
        const advantage = advantages[rowIndex]?.[turn] ?? null;
        if (advantage === null || sampledBy === null || policyVersion - sampledBy <= maxStaleness) return advantage;
        staleTurns += 1;
        return null;
      }),
    ),
  }));
  return { scored: fresh, staleTurns };
}

/** Trajectories with a limited number of trained turns. */
interface SampledTurns {
  readonly scored: readonly ScoredTrajectory[];
  /** Number of turns that are not trained on. */
  readonly leftOut: number;
}

/**
 * Keeps at most `maxTurns` turns of each rollout, drawn by the seed, so that a very long rollout does not dominate a step.
 * The others remain as context. Advantages are computed before, so baselines do not change.
 */
function sampleTurns(scored: readonly ScoredTrajectory[], maxTurns: number, seed: number): SampledTurns {
  const random = seededRandom(seed);
  let leftOut = 0;
  const sampled = scored.map(({ trajectory, advantages }) => {
    const places = advantages.flatMap((row, rowIndex) =>
      row.flatMap((advantage, turn) => (advantage === null ? [] : [`${rowIndex}/${turn}`])),
    );
    if (places.length <= maxTurns) return { trajectory, advantages };
    const kept = new Set(shuffled(places, random).slice(0, maxTurns));
    leftOut += places.length - kept.size;
    return {
      trajectory,
      advantages: advantages.map((row, rowIndex) =>
        row.map((advantage, turn) => (kept.has(`${rowIndex}/${turn}`) ? advantage : null)),
      ),
    };
  });
  return { scored: sampled, leftOut };
}
