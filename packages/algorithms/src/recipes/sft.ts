import type { Algorithm } from '@agentlightning/core';
import { supervised } from '../supervised/supervised.ts';
import { parseSupervisedOptions, type SupervisedOptions } from '../supervised/supervised-options.ts';

/**
 * Supervised fine-tuning on the completions of successful rollouts, such as those of an agent with more context than in
 * production.
 *
 * Loss: `-mean(log p)` over sampled tokens (maximum likelihood). Its own defaults: `groupSize` 1; all rollouts are imitated
 * unless `minReward` or `keepBest` selects some.
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
