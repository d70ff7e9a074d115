import { AgentLightningError } from '../base/agent-lightning-error.ts';
import type { SpanInput } from './span.ts';
import { agentLightningAttributes, spanNames } from './span-attributes.ts';

/**
 * Maximum magnitude of a reward. Squares of rewards, as in variances, can be summed over any number of rollouts without
 * overflow, and integers up to it are exact.
 */
export const maxRewardMagnitude = 1e15;

/** Whether a value can be a reward: a finite number of at most {@link maxRewardMagnitude}. */
export function isRewardNumber(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= maxRewardMagnitude;
}

/** Error for a number that is not a valid reward. */
export function rewardOutOfRange(name: string, value: unknown): AgentLightningError {
  const problem = Number.isFinite(value) ? `above the limit of ±${maxRewardMagnitude}` : 'not a finite number';
  return new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `Reward "${name}" is out of range: ${value} is ${problem}`,
    details: { name, value: String(value) },
  });
}

const dimensionValue = /^agentlightning\.reward\.(\d+)\.value$/;

/**
 * Rejects a span whose reward is not finite or out of range. Other spans pass.
 *
 * @throws AgentLightningError INVALID_REWARD
 */
export function assertRewardsInRange({ name: spanName, attributes }: Pick<SpanInput, 'name' | 'attributes'>): void {
  if (spanName !== spanNames.annotation && spanName !== spanNames.operation && spanName !== legacyRewardSpan) return;
  for (const key in attributes) {
    const value = attributes[key];
    if (isRewardNumber(value)) continue;
    const index = dimensionValue.exec(key)?.[1];
    if (index !== undefined) {
      throw rewardOutOfRange(String(attributes[`${agentLightningAttributes.reward}.${index}.name`] ?? index), value);
    }
    if (spanName === legacyRewardSpan && key === legacyRewardAttribute) throw rewardOutOfRange('primary', value);
  }
}

/** Reward span name of Python packages before 0.3. */
export const legacyRewardSpan = 'agentlightning.reward';
/** Reward attribute of {@link legacyRewardSpan}. */
export const legacyRewardAttribute = 'reward';
