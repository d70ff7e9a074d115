import { familyMetric, runMetrics } from '@agentlightning/core/metrics';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { type FailureCause, failureCauses } from '../results/failure-cause.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { primaryReward } from '../trace/conversation.ts';

/**
 * The number of rollouts of a step by failure cause, as metrics: `failures/timeout`. `failures/agent_share` is the share of
 * rollouts whose agents failed, without infrastructure failures.
 */
export function failureMetrics(collected: readonly FinishedRollout[]): Readonly<Record<string, number>> {
  const finished = collected.filter(({ failure }) => failure === null || failure === 'agent');
  const share = finished.filter(({ failure }) => failure === 'agent').length / Math.max(1, finished.length);
  const counts = Object.entries(countFailures(collected)).map(([cause, n]) => [
    familyMetric(runMetrics.failures, cause),
    n,
  ]);
  return { ...Object.fromEntries(counts), [runMetrics.failuresAgentShare.name]: share };
}

/** The number of rollouts by failure cause. */
export function countFailures(collected: readonly FinishedRollout[]): Readonly<Record<FailureCause, number>> {
  const causes = collected.map(causeOf);
  const counts = failureCauses.map((cause) => [cause, causes.filter((each) => each === cause).length]);
  return Object.fromEntries(counts) as Record<FailureCause, number>;
}

function causeOf({ failure, failureCause, spans }: FinishedRollout): FailureCause | null {
  if (failure === 'cancelled') return null;
  if (failure !== null) return failureCause ?? (failure === 'infrastructure' ? 'infrastructure' : 'agent_error');
  if (primaryReward(spans) === null) return 'no_reward';
  return spans.some((span) => modelCallFromSpan(span)?.isTrainable === true) ? null : 'untrainable';
}
