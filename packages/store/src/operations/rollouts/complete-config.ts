import { type RolloutConfig, ValidationError, type ValidationIssue } from '@agentlightning/core';
import { defaultRolloutConfig } from '@agentlightning/core/store';

/**
 * Adds defaults to a rollout's configuration.
 *
 * @throws ValidationError when a limit is not positive or `maxAttempts` is less than 1
 */
export function completeConfig(config: Partial<RolloutConfig> = {}): RolloutConfig {
  const complete: RolloutConfig = {
    timeoutMs: config.timeoutMs ?? defaultRolloutConfig.timeoutMs,
    unresponsiveMs: config.unresponsiveMs ?? defaultRolloutConfig.unresponsiveMs,
    maxAttempts: config.maxAttempts ?? defaultRolloutConfig.maxAttempts,
    retryCondition: config.retryCondition ?? defaultRolloutConfig.retryCondition,
  };
  const issues: ValidationIssue[] = [];
  for (const path of ['timeoutMs', 'unresponsiveMs'] as const) {
    const value = complete[path];
    if (value !== null && !(value >= 0 && Number.isFinite(value))) {
      issues.push({ path, message: `must be a number of milliseconds, or null for no limit, got ${value}` });
    }
  }
  if (!Number.isSafeInteger(complete.maxAttempts) || complete.maxAttempts < 1) {
    issues.push({ path: 'maxAttempts', message: `must be an integer of at least 1, got ${complete.maxAttempts}` });
  }
  if (issues.length > 0) throw new ValidationError('Rollout config', issues);
  return complete;
}
