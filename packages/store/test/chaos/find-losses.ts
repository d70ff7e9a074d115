import type { Store } from '@agentlightning/core';
import type { AcknowledgedRollout, AcknowledgedWork } from './acknowledged-work.ts';

/** Compares a store with what it has acknowledged; each line is something that is lost, or is there twice. */
export async function findLosses(store: Store, work: AcknowledgedWork): Promise<readonly string[]> {
  const losses: string[] = [];
  const { items } = await store.queryRollouts({ runId: work.runId });
  const statuses = new Map(items.map((rollout) => [rollout.rolloutId, rollout.status]));
  for (const rollout of work.rollouts.values()) {
    const status = statuses.get(rollout.rolloutId);
    if (status === undefined) losses.push(`rollout ${rollout.rolloutId} is gone`);
    else if (rollout.isFinished && status !== 'succeeded') losses.push(`${rollout.rolloutId} is ${status} again`);
    else losses.push(...(await attemptLosses(store, rollout)), ...(await spanLosses(store, rollout)));
  }
  const steps = new Set((await store.queryMetrics(work.runId)).items.map((point) => point.step));
  losses.push(...work.steps.filter((step) => !steps.has(step)).map((step) => `metrics of ${work.runId} step ${step}`));
  return losses;
}

/** A claim that was asked for again must not have opened a second attempt. */
async function attemptLosses(store: Store, rollout: AcknowledgedRollout): Promise<readonly string[]> {
  if (rollout.attemptId === null) return [];
  const { items } = await store.queryAttempts(rollout.rolloutId);
  const ids = items.map((attempt) => attempt.attemptId);
  if (ids.length === 1 && ids[0] === rollout.attemptId) return [];
  return [`${rollout.rolloutId} was claimed as ${rollout.attemptId} and has attempts ${ids.join(', ')}`];
}

/** Every span once, and their numbers without gaps. */
async function spanLosses(store: Store, rollout: AcknowledgedRollout): Promise<readonly string[]> {
  const { items } = await store.querySpans({ rolloutId: rollout.rolloutId });
  const recorded = new Set(items.map((span) => span.spanId));
  const lost = rollout.spanIds.filter((spanId) => !recorded.has(spanId));
  const hasGap = items.some((span, index) => span.sequenceId !== index + 1);
  return [
    ...lost.map((spanId) => `span ${spanId} of ${rollout.rolloutId} is gone`),
    ...(hasGap ? [`${rollout.rolloutId} has numbers ${items.map((span) => span.sequenceId).join(',')}`] : []),
  ];
}
