import type { Algorithm } from '@agentlightning/core';
import { supervised } from '../supervised/supervised.ts';
import { parseSupervisedOptions, type SupervisedOptions } from '../supervised/supervised-options.ts';

/**
 * Supervised fine-tuning on traces: learns to say what was said in every rollout that succeeded, such as those of an agent
 * that has more context than it will have later.
 *
 * Loss: `-mean(log p)` over sampled tokens (maximum likelihood). Its own defaults: `groupSize` 1; every rollout is imitated
 * unless `minReward` or `keepBest` picks.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = sft({ learningRate: 1e-4, minReward: 1 });
 * ```
 */
export function sft(options: SupervisedOptions = {}): Algorithm {
  return supervised('sft', parseSupervisedOptions('sft', { groupSize: 1 }, options));
}
