import { AgentLightningError } from './errors/agent-lightning-error.ts';
import type { SpanInput } from './span.ts';
import { agentLightningAttributes, spanNames } from './span-attributes.ts';

/**
 * The largest magnitude of a reward. Squares of such rewards, which variances are made of, can be summed over any
 * number of rollouts without overflow, and whole numbers up to it are exact.
 */
export const maxRewardMagnitude = 1e15;

/** Whether a value can be a reward: a finite number of at most {@link maxRewardMagnitude}. */
export function isRewardNumber(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= maxRewardMagnitude;
}

/** The error for a number that cannot be a reward. */
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
 * Refuses a span whose reward is not a finite number, or too large. Other spans pass.
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

/** The reward span of Python packages before 0.3, and its attribute. */
export const legacyRewardSpan = 'agentlightning.reward';
/** See {@link legacyRewardSpan}. */
export const legacyRewardAttribute = 'reward';
