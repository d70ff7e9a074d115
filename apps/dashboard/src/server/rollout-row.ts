import type { JsonObject } from '@agentlightning/core';
import { type FoundRollout, hasAttempt, recordedFailure } from '@agentlightning/core/store';
import type { RolloutRow } from '../api/rollout-views.ts';
import { previewOf } from './preview.ts';

/** A rollout as a row of a list. */
export function rolloutRow({ rollout, reward, label }: FoundRollout): RolloutRow {
  const { rolloutId, runId, status, mode, metadata, startTimeMs, endTimeMs } = rollout;
  const attempt = hasAttempt(rollout) ? rollout.attempt : null;
  return {
    rolloutId,
    runId,
    status,
    mode,
    step: numberIn(metadata, 'step'),
    taskIndex: numberIn(metadata, 'task_index'),
    groupId: textIn(metadata, 'group_id'),
    startTimeMs,
    endTimeMs,
    attempts: attempt?.sequenceId ?? 0,
    workerId: attempt?.workerId ?? null,
    reward,
    label,
    failure: attempt === null ? null : recordedFailure(attempt),
    preview: previewOf(rollout.input),
  };
}

/** A number of a rollout's metadata; null for other values. */
export function numberIn(metadata: JsonObject | null, name: string): number | null {
  const value = metadata?.[name];
  return typeof value === 'number' ? value : null;
}

function textIn(metadata: JsonObject | null, name: string): string | null {
  const value = metadata?.[name];
  return typeof value === 'string' ? value : null;
}
