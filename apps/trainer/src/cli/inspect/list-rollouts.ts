import type { AttemptedRollout, Rollout, RolloutMode, RolloutStatus } from '@agentlightning/core';
import { hasAttempt, lostClaimsReasonKey, type RunStatistics } from '@agentlightning/core/store';
import { textTable } from '../../report/text-table.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl rollouts`. */
export interface RolloutsFlags {
  readonly store: string;
  readonly run?: string;
  readonly status?: readonly RolloutStatus[];
  readonly mode?: readonly RolloutMode[];
  readonly limit: number;
  readonly json?: boolean;
}

/** Writes rollouts, newest first. */
export async function listRollouts(flags: RolloutsFlags): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    const statistics = flags.run === undefined ? null : await store.runStatistics(flags.run);
    const { items, total } = await store.queryRollouts({
      ...(flags.run === undefined ? {} : { runId: flags.run }),
      ...(flags.status === undefined ? {} : { statusIn: flags.status }),
      ...(flags.mode === undefined ? {} : { modeIn: flags.mode }),
      sortBy: 'startTimeMs',
      sortOrder: 'desc',
      limit: flags.limit,
    });
    const lines =
      flags.json === true
        ? items.map((rollout) => JSON.stringify(rolloutRecord(rollout)))
        : [...summaryLines(statistics), ...rolloutLines(items), ...moreLines(items.length, total)];
    for (const line of lines) process.stdout.write(`${line}\n`);
  } finally {
    await store.close();
  }
}

function rolloutRecord(rollout: Rollout | AttemptedRollout): Record<string, unknown> {
  return {
    rollout: rollout.rolloutId,
    run: rollout.runId,
    status: rollout.status,
    mode: rollout.mode,
    attempts: hasAttempt(rollout) ? rollout.attempt.sequenceId : 0,
    worker: hasAttempt(rollout) ? rollout.attempt.workerId : null,
    started: new Date(rollout.startTimeMs).toISOString(),
    seconds: rollout.endTimeMs === null ? null : (rollout.endTimeMs - rollout.startTimeMs) / 1000,
    reason: rollout.metadata?.[lostClaimsReasonKey] ?? null,
    task: rollout.input,
  };
}

function summaryLines(statistics: RunStatistics | null): string[] {
  if (statistics === null) return [];
  const { runId, totalRollouts, totalAttempts, rolloutsByStatus } = statistics;
  const parts = Object.entries(rolloutsByStatus)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${status}`);
  return [`${runId}: ${totalRollouts} rollouts in ${totalAttempts} attempts (${parts.join(', ') || 'none yet'})`, ''];
}

const longestTask = 48;

function rolloutLines(rollouts: readonly (Rollout | AttemptedRollout)[]): string[] {
  if (rollouts.length === 0) return ['No such rollouts.'];
  const header = ['ROLLOUT', 'STATUS', 'MODE', 'ATTEMPTS', 'STARTED', 'SECONDS', 'TASK'];
  const rows = rollouts.map((rollout) => {
    const record = rolloutRecord(rollout);
    const task = JSON.stringify(rollout.input);
    return [
      rollout.rolloutId,
      rollout.status,
      rollout.mode ?? '-',
      String(record['attempts']),
      String(record['started']).slice(0, 19).replace('T', ' '),
      typeof record['seconds'] === 'number' ? record['seconds'].toFixed(2) : '-',
      task.length > longestTask ? `${task.slice(0, longestTask - 1)}…` : task,
    ];
  });
  return textTable(header, rows);
}

function moreLines(shown: number, total: number): string[] {
  return total > shown ? ['', `${total - shown} more; --limit ${total} shows all.`] : [];
}
