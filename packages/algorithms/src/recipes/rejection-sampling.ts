import type { Algorithm } from '@agentlightning/core';
import { supervised } from '../supervised/supervised.ts';
import { parseSupervisedOptions, type SupervisedOptions } from '../supervised/supervised-options.ts';

/**
 * Rejection sampling: tries every task several times and learns to say what was said in the best rollout, if that is good
 * enough. Slower than a policy gradient, as it learns nothing of what went badly, and hard to get wrong.
 *
 * RAFT: Dong et al., arXiv 2304.06767. Its own defaults: `groupSize` 8, `keepBest` 1. Set `minReward` to what counts as
 * good: without it the best of all bad rollouts is imitated too.
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
