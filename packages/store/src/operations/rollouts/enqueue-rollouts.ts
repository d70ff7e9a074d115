import {
  type Rollout,
  type RolloutConfig,
  type RolloutStatus,
  ValidationError,
  type ValidationIssue,
} from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import { defaultRolloutConfig, type EnqueueRolloutRequest, newId } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { toJson } from '../../sql/row-value.ts';
import { storeContents } from '../records/contents.ts';
import { assertResourcesExist, findLatestResources } from '../records/read-resources.ts';
import { loadRun } from '../records/read-runs.ts';
import { enterQueue, findRollouts, recordRolloutChange } from '../records/rollout-record.ts';
import { lockRows } from '../records/row-lock.ts';

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

/** Enqueues rollouts; existing ids are left unchanged. */
export async function enqueueRollouts(
  context: OperationContext,
  requests: readonly EnqueueRolloutRequest[],
): Promise<readonly Rollout[]> {
  assertClaimable(requests);
  const ids = requests.flatMap(({ rolloutId }) => rolloutId ?? []);
  // They must not be deleted while they are read.
  await lockRows(context, 'rollouts', ids);
  const known = new Map<string, Rollout>(ids.length === 0 ? [] : await findRollouts(context, ids));
  const defaults = await loadReferences(context, requests);
  const created: Rollout[] = [];
  const rollouts = requests.map((request) => {
    const existing = request.rolloutId === undefined ? undefined : known.get(request.rolloutId);
    if (existing !== undefined) return existing;
    const rollout = newRollout(context, request, { status: 'queuing', ...defaults });
    known.set(rollout.rolloutId, rollout);
    created.push(rollout);
    return rollout;
  });
  await insertRollouts(context, created);
  await enterQueue(context, created);
  return rollouts;
}

/**
 * Rejects rollouts of production, which no runner may run.
 *
 * @throws ValidationError
 */
export function assertClaimable(rollouts: readonly Pick<EnqueueRolloutRequest, 'mode'>[]): void {
  const index = rollouts.findIndex(({ mode }) => mode === 'production');
  if (index === -1) return;
  const message =
    'production is the mode of recorded traces, which are never in the queue: record them with recordTraces';
  throw new ValidationError('Rollout', [{ path: `${index}.mode`, message }]);
}

/**
 * Inserts a rollout without enqueuing it.
 *
 * @throws NotFoundError when its resources or its run do not exist
 */
export async function insertRollout(
  context: OperationContext,
  request: EnqueueRolloutRequest,
  status: RolloutStatus,
): Promise<Rollout> {
  const rollout = newRollout(context, request, { status, ...(await loadReferences(context, [request])) });
  await insertRollouts(context, [rollout]);
  return rollout;
}

interface RolloutDefaults {
  /** Default resources of rollouts: the latest. */
  readonly latestResourcesId: string | null;
}

/** Checks the resources and runs that the requests reference, and finds the defaults. */
async function loadReferences(
  context: OperationContext,
  requests: readonly EnqueueRolloutRequest[],
): Promise<RolloutDefaults> {
  for (const { rolloutId, runId, resourcesId } of requests) {
    assertId('rolloutId', rolloutId);
    assertId('runId', runId);
    assertId('resourcesId', resourcesId);
  }
  const resourcesIds = new Set(requests.flatMap((request) => request.resourcesId ?? []));
  for (const resourcesId of resourcesIds) await assertResourcesExist(context, resourcesId);
  for (const runId of new Set(requests.flatMap((request) => request.runId ?? []))) await loadRun(context, runId);
  const needsLatest = requests.some(({ resourcesId = null }) => resourcesId === null);
  return { latestResourcesId: needsLatest ? ((await findLatestResources(context))?.resourcesId ?? null) : null };
}

function newRollout(
  context: OperationContext,
  request: EnqueueRolloutRequest,
  options: RolloutDefaults & { readonly status: RolloutStatus },
): Rollout {
  return {
    rolloutId: request.rolloutId ?? newId('rollout'),
    input: request.input,
    status: options.status,
    mode: request.mode ?? null,
    resourcesId: request.resourcesId ?? options.latestResourcesId,
    runId: request.runId ?? null,
    config: completeConfig(request.config),
    metadata: request.metadata ?? null,
    startTimeMs: context.nowMs,
    endTimeMs: null,
  };
}

async function insertRollouts(context: OperationContext, rollouts: readonly Rollout[]): Promise<void> {
  const inputs = await storeContents(
    context,
    rollouts.map(({ rolloutId, input }) => ({ rolloutId, json: toJson(input, 'Rollout input') })),
  );
  await context.db.insert(
    rolloutTable,
    rollouts.map((rollout, index) => [
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
      inputs[index] ?? null,
    ]),
  );
  for (const rollout of rollouts) recordRolloutChange(context, rollout);
}

const rolloutTable = {
  table: 'rollouts',
  columns: {
    rollout_id: 'text',
    run_id: 'text',
    status: 'text',
    mode: 'text',
    resources_id: 'text',
    timeout_ms: 'real',
    unresponsive_ms: 'real',
    max_attempts: 'integer',
    retry_condition: 'text',
    start_time_ms: 'real',
    metadata: 'text',
    input: 'text',
  },
} as const;
