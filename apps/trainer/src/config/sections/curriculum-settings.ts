import { z } from 'zod';

/** Weighting of training tasks. */
export interface CurriculumConfig {
  /**
   * `passRate`: a task is drawn in proportion to `p · (1 − p)`, where `p` is its smoothed pass rate: most often at 0.5, where
   * the rollouts of a group differ most (arXiv 2601.02648).
   */
  readonly by: 'passRate';
  /**
   * The share of draws that do not depend on pass rates, more than 0 and at most 1: no task is forgotten, since each is
   * drawn with at least this share of its uniform probability.
   *
   * @default 0.2
   */
  readonly floor?: number;
  /**
   * Decay factor of the earlier results of a task when it has new ones, from 0 to 1, because old results describe an older
   * policy. At 1 all results have the same weight.
   *
   * @default 0.5
   */
  readonly memory?: number;
  /**
   * The lowest reward of a rollout that has passed.
   *
   * @default every rollout passes in part: by its reward, scaled from `rewards.range` (0 to 1) to 0 to 1
   */
  readonly passReward?: number;
}

/** The curriculum settings with their defaults. */
export interface CurriculumSettings extends Required<Omit<CurriculumConfig, 'passReward'>> {
  /** Null for rewards as shares. */
  readonly passReward: number | null;
}

/** Validates {@link CurriculumConfig}. */
export const curriculumSchema: z.ZodType<CurriculumSettings> = z.strictObject({
  by: z.literal('passRate'),
  floor: z.number().gt(0).max(1).default(0.2),
  memory: z.number().min(0).max(1).default(0.5),
  passReward: z.number().nullable().default(null),
});
