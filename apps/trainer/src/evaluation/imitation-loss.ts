import { runMetrics } from '@agentlightning/core/metrics';

/**
 * The loss of a step that imitates rollouts with equal rewards, such as demonstrations: their reward says nothing about the
 * policy. Null for another step, and for one without an update.
 */
export function imitationLoss(metrics: Readonly<Record<string, number>>): number | null {
  const isImitated = (metrics[runMetrics.rolloutsImitated.name] ?? 0) > 0 && metrics[runMetrics.rewardStd.name] === 0;
  return isImitated ? (metrics[runMetrics.policyLoss.name] ?? null) : null;
}
