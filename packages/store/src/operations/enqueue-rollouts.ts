import { type EnqueueRolloutRequest, newId, type Rollout, type RolloutStatus } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { toJson } from '../row-value.ts';
import { completeConfig } from './complete-config.ts';
import { findLatestResources, loadResources } from './read-resources.ts';
import { loadRun } from './read-runs.ts';
import { enterQueue, findRollout, noteRollout } from './rollout-record.ts';

/** Puts rollouts into the queue; those whose id is known already are left alone. */
export async function enqueueRollouts(
  context: OperationContext,
  requests: readonly EnqueueRolloutRequest[],
): Promise<readonly Rollout[]> {
  const rollouts: Rollout[] = [];
  for (const request of requests) {
    const known = request.rolloutId === undefined ? null : await findRollout(context, request.rolloutId);
    if (known !== null) {
      rollouts.push(known);
      continue;
    }
    const rollout = await insertRollout(context, request, 'queuing');
    await enterQueue(context, rollout);
    rollouts.push(rollout);
  }
  return rollouts;
}

/**
 * Writes a new rollout.
 *
 * @throws NotFoundError when its resources or its run do not exist
 */
export async function insertRollout(
  context: OperationContext,
  request: EnqueueRolloutRequest,
  status: RolloutStatus,
): Promise<Rollout> {
  const rollout: Rollout = {
    rolloutId: request.rolloutId ?? newId('rollout'),
    input: request.input,
    status,
    mode: request.mode ?? null,
    resourcesId: await resourcesFor(context, request),
    runId: request.runId ?? null,
    config: completeConfig(request.config),
    metadata: request.metadata ?? null,
    startTimeMs: context.nowMs,
    endTimeMs: null,
  };
  if (rollout.runId !== null) await loadRun(context, rollout.runId);
  await context.db.run(
    `INSERT INTO rollouts (rollout_id, run_id, status, mode, resources_id, timeout_ms, unresponsive_ms, max_attempts,
       retry_condition, start_time_ms, metadata, input)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      rollout.rolloutId,
      rollout.runId,
      rollout.status,
      rollout.mode,
      rollout.resourcesId,
      rollout.config.timeoutMs,
      rollout.config.unresponsiveMs,
      rollout.config.maxAttempts,
      toJson(rollout.config.retryCondition, 'Retry condition'),
      rollout.startTimeMs,
      rollout.metadata === null ? null : toJson(rollout.metadata, 'Rollout metadata'),
      toJson(rollout.input, 'Rollout input'),
    ],
  );
  noteRollout(context, rollout);
  return rollout;
}

/** The resources a new rollout runs with: the ones it asks for, or the latest. */
async function resourcesFor(context: OperationContext, request: EnqueueRolloutRequest): Promise<string | null> {
  if (request.resourcesId === undefined || request.resourcesId === null) {
    return (await findLatestResources(context))?.resourcesId ?? null;
  }
  return (await loadResources(context, request.resourcesId)).resourcesId;
}
