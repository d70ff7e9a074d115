import { z } from 'zod';

/** When the rollouts of training steps run. */
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
   * `async`: how many policy versions older than the current one the weights may be that sampled a group, from 0 to 64. It
   * bounds how many steps collection is ahead of training; older groups are dropped, and replaced. The loss weighs tokens by
   * their ratio to the weights that sampled them; `samplerCorrection` of the algorithm truncates or masks these ratios.
   *
   * @default 1
   */
  readonly maxStaleness?: number;
  /**
   * `async`: how many groups run beyond those that are needed, as a share of `tasksPerStep`, from 0 to 4. A step does not
   * wait for as many stragglers, which later steps take, or drop when they are too old.
   *
   * @default 0.25
   */
  readonly oversample?: number;
  /**
   * How many groups without a learning signal a step may replace by groups of further tasks, at least 0: those whose rollouts
   * all have the same reward (dynamic sampling of DAPO, arXiv 2503.14476, section 3.2). In `sync` mode the step waits for
   * them.
   *
   * @default 0
   */
  readonly refillGroups?: number;
}

/** The collection settings with their defaults. */
export type CollectionSettings = Required<CollectionConfig>;

/** Validates {@link CollectionConfig}. */
export const collectionSchema: z.ZodType<CollectionSettings> = z
  .strictObject({
    mode: z.enum(['sync', 'async']).default('sync'),
    maxStaleness: z.int().min(0).max(64).optional(),
    oversample: z.number().min(0).max(4).optional(),
    refillGroups: z.int().min(0).default(0),
  })
  .check(({ value, issues }) => {
    if (value.mode === 'async') return;
    for (const option of ['maxStaleness', 'oversample'] as const) {
      if (value[option] === undefined) continue;
      issues.push({ code: 'custom', input: value, path: [option], message: "has no effect without mode: 'async'" });
    }
  })
  .transform(({ maxStaleness = 1, oversample = 0.25, ...others }) => ({ ...others, maxStaleness, oversample }));
