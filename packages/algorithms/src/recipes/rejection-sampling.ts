import type { Algorithm } from '@agentlightning/core';
import { supervised } from '../supervised/supervised.ts';
import { parseSupervisedOptions, type SupervisedOptions } from '../supervised/supervised-options.ts';

/**
 * Rejection sampling: samples several rollouts per task and fine-tunes on the best, if its reward is high enough. Slower
 * than a policy gradient, because it does not use failures, but robust.
 *
 * RAFT: Dong et al., arXiv 2304.06767. Its own defaults: `groupSize` 8, `keepBest` 1. Set `minReward`: without it, the best
 * rollout of a task is imitated even when all of them failed.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = rejectionSampling({ minReward: 0.9 });
 * ```
 */
export function rejectionSampling(options: SupervisedOptions = {}): Algorithm {
  const settings = parseSupervisedOptions('rejection-sampling', { groupSize: 8, keepBest: 1 }, options);
  return supervised('rejection-sampling', settings);
}
