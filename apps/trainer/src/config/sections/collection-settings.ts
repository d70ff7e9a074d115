import { z } from 'zod';

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
