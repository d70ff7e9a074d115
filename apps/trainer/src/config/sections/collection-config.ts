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
   * @default every rollout passes in part: by its reward, scaled from `reward.range` (0 to 1) to 0 to 1
   */
  readonly passReward?: number;
  /**
   * The number of rollouts after which a task that none of them has solved is set aside, at least 1: it is drawn only when no other
   * task is left, and reported with rollouts that show it (`unsolved-tasks`). It is too hard, broken, or has a wrong answer.
   * A task is solved by a rollout that passes, at least in part.
   *
   * @default no task is set aside
   */
  readonly setAsideAfter?: number;
}

/** The curriculum settings with their defaults. */
export interface CurriculumSettings extends Required<Omit<CurriculumConfig, 'passReward' | 'setAsideAfter'>> {
  /** Null for rewards as shares. */
  readonly passReward: number | null;
  /** Null: no task is set aside. */
  readonly setAsideAfter: number | null;
}

/** Validates {@link CurriculumConfig}. */
const curriculumSchema: z.ZodType<CurriculumSettings> = z.strictObject({
  by: z.literal('passRate'),
  floor: z.number().gt(0).max(1).default(0.2),
  memory: z.number().min(0).max(1).default(0.5),
  passReward: z.number().nullable().default(null),
  setAsideAfter: z.int().min(1).nullable().default(null),
});

/** Scheduling of the rollouts of training steps. */
export interface CollectionConfig {
  /**
   * `sync`: a step enqueues its rollouts with the weights of the step before, and waits for all of them. Equal seeds give
   * equal runs. `async`: rollouts of later steps run while the optimizer steps, and a step takes the groups that finish
   * first.
   *
   * @default 'sync'
   */
  readonly mode?: 'sync' | 'async';
  /**
   * `async`: maximum age of the weights that sampled a group, in policy versions, from 0 to 64. It bounds the number of
   * steps by which collection is ahead of training; older groups are dropped and replaced. The loss weighs tokens by their
   * ratio to the weights that sampled them; `samplerCorrection` of the algorithm truncates or masks these ratios.
   *
   * @default 1
   */
  readonly maxStaleness?: number;
  /**
   * `async`: number of additional groups in progress, as a share of `tasksPerStep`, from 0 to 4. A step does not wait for as
   * many stragglers; later steps use them, or drop them when they are too old.
   *
   * @default 0.25
   */
  readonly oversample?: number;
  /**
   * Maximum number of groups without a learning signal, whose rollouts all have the same reward, that a step replaces by
   * groups of other tasks; at least 0 (dynamic sampling of DAPO, arXiv 2503.14476, section 3.2). In `sync` mode the step
   * waits for them.
   *
   * @default 0
   */
  readonly refillGroups?: number;
  /**
   * Weights training tasks by their pass rates. It must not change when the run is resumed.
   *
   * @default every task is drawn equally often: the task list, shuffled once per epoch
   */
  readonly curriculum?: CurriculumConfig;
}

/** The collection settings with their defaults. */
export interface CollectionSettings extends Required<Omit<CollectionConfig, 'curriculum'>> {
  /** Null draws every task equally often. */
  readonly curriculum: CurriculumSettings | null;
}

/** Validates {@link CollectionConfig}. */
export const collectionSchema: z.ZodType<CollectionSettings> = z
  .strictObject({
    mode: z.enum(['sync', 'async']).default('sync'),
    maxStaleness: z.int().min(0).max(64).optional(),
    oversample: z.number().min(0).max(4).optional(),
    refillGroups: z.int().min(0).default(0),
    curriculum: curriculumSchema.nullable().default(null),
  })
  .check(({ value, issues }) => {
    if (value.mode === 'async') return;
    for (const option of ['maxStaleness', 'oversample'] as const) {
      if (value[option] === undefined) continue;
      issues.push({ code: 'custom', input: value, path: [option], message: "has no effect without mode: 'async'" });
    }
  })
  .transform(({ maxStaleness = 1, oversample = 0.25, ...others }) => ({ ...others, maxStaleness, oversample }));
