import type {
  CollectedGroup,
  PromptRequest,
  StepContext,
  Teacher,
  Trajectory,
  TrajectoryRow,
} from '@agentlightning/core/algorithm';
import { familyMetric, runMetrics } from '@agentlightning/core/metrics';
import type { ValuedTrajectories } from '../advantage/score-by-value.ts';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { type ScoresByRow, scoresByRow } from '../rows/row-scores.ts';
import { type FeedbackSource, feedbackSources } from './feedback.ts';
import { type FeedbackSettings, promptedRows } from './teacher-prompts.ts';
import { teacherRow } from './teacher-row.ts';
import { TokenDifferences } from './token-differences.ts';

/** How a teacher guides each token. */
export interface GuidanceSettings {
  readonly teacher: Teacher;
  /** The share of the teacher in advantages, more than 0 and at most 1. */
  readonly weight: number;
  /** Limit of the absolute difference of a token's log-probabilities, in nats. */
  readonly clip: number;
  /** What the prompts of the teacher have in addition; null where it has those of the policy. */
  readonly feedback: FeedbackSettings | null;
}

/** The rows of a step that a teacher scores. */
export interface GuidedStep {
  /** The rollouts with the rows as the teacher scores them; those that it does not score are left out. */
  readonly trajectories: readonly Trajectory[];
  /** The teacher's row of each row that it scores. */
  readonly rows: ReadonlyMap<TrajectoryRow, TrajectoryRow>;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Guidance of a policy by a teacher. The advantage of a token is `(1 - weight)` times that of the reward, plus `weight` times the
 * clipped difference `log p(token | teacher's prompt) - log p(token)`: the negative reverse KL divergence, estimated at
 * the sampled token. Its policy gradient is that of the divergence (arXiv 2306.13649, 2601.20802).
 */
export class Guidance {
  readonly #settings: GuidanceSettings;

  constructor(settings: GuidanceSettings) {
    this.#settings = settings;
  }

  get teacher(): Teacher {
    return this.#settings.teacher;
  }

  /** Whether the teacher has prompts with feedback. */
  get hasPrompts(): boolean {
    return this.#settings.feedback !== null;
  }

  /** The prompts with feedback. */
  prompts(groups: readonly CollectedGroup[], trajectories: readonly Trajectory[]): readonly PromptRequest[] {
    const { feedback } = this.#settings;
    if (feedback === null) return [];
    return promptedRows(groups, trajectories, feedback).flatMap(({ request }) => request ?? []);
  }

  /** Selects what the teacher scores. */
  prepare(
    groups: readonly CollectedGroup[],
    trajectories: readonly Trajectory[],
    context: Pick<StepContext, 'prompts' | 'maxTeacherTokens'>,
  ): GuidedStep {
    const { feedback } = this.#settings;
    const maxTokens = context.maxTeacherTokens ?? Infinity;
    if (feedback === null) {
      const rows = trajectories.flatMap((trajectory) => trajectory.rows);
      return guidedStep(
        trajectories,
        rows.map((row) => ({ row, scored: row.tokenIds.length <= maxTokens ? row : null, isCut: false })),
      );
    }
    let next = 0;
    const prompted = promptedRows(groups, trajectories, feedback);
    const rows = prompted.map(({ row, request }): RowChoice => {
      const prompt = request === null ? null : (context.prompts?.[next++] ?? null);
      const guided = prompt === null ? null : teacherRow(row, prompt, maxTokens);
      return { row, scored: guided?.row ?? null, isCut: guided?.isCut ?? false };
    });
    const step = guidedStep(trajectories, rows);
    const sources = new Map(prompted.map((each) => [each.row, each.feedback.sources]));
    const cut = rows.filter(({ isCut }) => isCut).length;
    const metrics = { ...step.metrics, [runMetrics.teacherFeedbackCut.name]: cut };
    return { ...step, metrics: { ...metrics, ...feedbackMetrics(trajectories, sources) } };
  }

  /** Mixes the differences from the teacher into the advantages. */
  apply(
    judged: ValuedTrajectories,
    { trajectories, rows, metrics }: GuidedStep,
    { step, scores }: { readonly step: readonly Trajectory[]; readonly scores: GuidedScores },
  ): ValuedTrajectories {
    const byTeacher = scores.teacher === undefined ? new Map() : scoresByRow(trajectories, { teacher: scores.teacher });
    const differences = new TokenDifferences(this.#settings);
    const scored = [...judged.scored, ...withoutReward(step, judged.scored, rows)];
    const columns = new Map(judged.columns);
    for (const { trajectory, advantages } of scored) {
      for (const [index, row] of trajectory.rows.entries()) {
        const teacher = byTeacher.get(rows.get(row) ?? row)?.teacher ?? null;
        const policy = scores.policy.get(row)?.current ?? null;
        const own = columns.get(row) ?? {};
        const ofReward = own.advantages ?? turnAdvantages(row, advantages[index] ?? []);
        const mixed =
          teacher === null || policy === null || !rows.has(row)
            ? differences.unguided(ofReward)
            : differences.mix(ofReward, { teacher, policy });
        columns.set(row, { ...own, advantages: mixed });
      }
    }
    return { ...judged, scored, columns, metrics: { ...judged.metrics, ...metrics, ...differences.metrics() } };
  }
}

/** The scores of a step under the policy, and those of the teacher's rows. */
export interface GuidedScores {
  readonly policy: ScoresByRow;
  readonly teacher: readonly Float32Array[] | undefined;
}

/** A row that the teacher should score, and how it does. */
interface RowChoice {
  readonly row: TrajectoryRow;
  /** Null where it cannot. */
  readonly scored: TrajectoryRow | null;
  readonly isCut: boolean;
}

function guidedStep(trajectories: readonly Trajectory[], choices: readonly RowChoice[]): GuidedStep {
  const rows = new Map(
    choices.flatMap(({ row, scored }): readonly (readonly [TrajectoryRow, TrajectoryRow])[] =>
      scored === null ? [] : [[row, scored]],
    ),
  );
  return {
    trajectories: trajectories.map((each) => ({ ...each, rows: each.rows.flatMap((row) => rows.get(row) ?? []) })),
    rows,
    metrics: {
      [runMetrics.teacherRollouts.name]: trajectories.filter((each) => each.rows.some((row) => rows.has(row))).length,
      [runMetrics.teacherRowsLeftOut.name]: choices.length - rows.size,
    },
  };
}

function feedbackMetrics(
  trajectories: readonly Trajectory[],
  sourcesOf: ReadonlyMap<TrajectoryRow, readonly FeedbackSource[]>,
): Readonly<Record<string, number>> {
  const trainable = trajectories.filter((each) => each.rows.length > 0);
  const hasSource = (trajectory: Trajectory, source: FeedbackSource): boolean =>
    trajectory.rows.some((row) => sourcesOf.get(row)?.includes(source) === true);
  return {
    [runMetrics.teacherWithoutFeedback.name]: trainable.filter((each) => !each.rows.some((row) => sourcesOf.has(row)))
      .length,
    ...Object.fromEntries(
      feedbackSources
        .map(
          (source) =>
            [
              familyMetric(runMetrics.teacherFeedback, source),
              trainable.filter((each) => hasSource(each, source)).length,
            ] as const,
        )
        .filter(([, count]) => count > 0),
    ),
  };
}

/** Rollouts without a reward that the teacher scores: the advantages of their reward are 0. */
function withoutReward(
  step: readonly Trajectory[],
  scored: readonly ScoredTrajectory[],
  rows: GuidedStep['rows'],
): readonly ScoredTrajectory[] {
  const known = new Set(scored.map(({ trajectory }) => trajectory.rolloutId));
  return step
    .filter((trajectory) => !known.has(trajectory.rolloutId) && trajectory.rows.some((row) => rows.has(row)))
    .map((trajectory) => ({
      trajectory,
      advantages: trajectory.rows.map((row) => row.trained.map(() => (rows.has(row) ? 0 : null))),
    }));
}

/** The advantage of each token, by turns; 0 for turns that are not trained on. */
function turnAdvantages(row: TrajectoryRow, advantages: readonly (number | null)[]): Float32Array {
  return Float32Array.from(
    row.trained.flatMap(({ start, end }, turn) => new Array<number>(end - start).fill(advantages[turn] ?? 0)),
  );
}
