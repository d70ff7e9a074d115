import type { Store } from '@agentlightning/core';
import { quantityText } from '@agentlightning/core/internal';
import { hasAttempt, lostClaimsReasonKey } from '@agentlightning/core/protocol';
import {
  type FoundRollout,
  isTerminalRolloutStatus,
  type RolloutSearchPage,
  type RunStatistics,
} from '@agentlightning/core/store';
import { type RolloutFilter, rolloutSearch } from '@agentlightning/dashboard/internal';
import { textTable } from '../../report/text-formats.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl rollouts`. */
export interface RolloutsFlags extends Omit<RolloutFilter, 'group' | 'id' | 'cursor'> {
  readonly store: string;
  readonly limit: number;
  readonly withoutReward?: boolean;
  readonly json?: boolean;
}

/** Writes rollouts. */
export async function listRollouts({ store: url, json, withoutReward, ...filter }: RolloutsFlags): Promise<void> {
  const store = await openExistingStore(url);
  try {
    const statistics = filter.run === undefined ? null : await store.runStatistics(filter.run);
    const { items, total, unindexed } =
      withoutReward === true ? await rewardless(store, filter) : await store.searchRollouts(rolloutSearch(filter));
    const lines =
      json === true
        ? items.map((found) => JSON.stringify(rolloutRecord(found)))
        : [
            ...summaryLines(statistics),
            ...rolloutLines(items),
            ...moreLines(items.length, total),
            ...unindexedLines(unindexed),
          ];
    for (const line of lines) process.stdout.write(`${line}\n`);
  } finally {
    await store.close();
  }
}

/** The finished rollouts without a reward: the search of a store has no such filter. */
async function rewardless(
  store: Store,
  { limit, ...filter }: RolloutFilter & { readonly limit: number },
): Promise<Pick<RolloutSearchPage, 'items' | 'total' | 'unindexed'>> {
  const found: FoundRollout[] = [];
  let cursor: string | null = null;
  do {
    const page: RolloutSearchPage = await store.searchRollouts(
      rolloutSearch({ ...filter, limit: maxRollouts, ...(cursor === null ? {} : { cursor }) }),
    );
    found.push(
      ...page.items.filter(({ rollout, reward }) => reward === null && isTerminalRolloutStatus(rollout.status)),
    );
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { items: found.slice(0, limit), total: found.length, unindexed: 0 };
}

function rolloutRecord({ rollout, reward }: FoundRollout): Record<string, unknown> {
  return {
    rollout: rollout.rolloutId,
    run: rollout.runId,
    status: rollout.status,
    mode: rollout.mode,
    attempts: hasAttempt(rollout) ? rollout.attempt.sequenceId : 0,
    worker: hasAttempt(rollout) ? rollout.attempt.workerId : null,
    started: new Date(rollout.startTimeMs).toISOString(),
    reward,
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
  return [
    `${runId}: ${quantityText(totalRollouts, 'rollout')} in ${quantityText(totalAttempts, 'attempt')} (${parts.join(', ') || 'none yet'})`,
    '',
  ];
}

const longestTask = 48;

function rolloutLines(rollouts: readonly FoundRollout[]): string[] {
  if (rollouts.length === 0) return ['No such rollouts.'];
  const header = ['ROLLOUT', 'STATUS', 'MODE', 'REWARD', 'ATTEMPTS', 'STARTED', 'SECONDS', 'TASK'];
  const rows = rollouts.map((found) => {
    const { rollout, reward } = found;
    const record = rolloutRecord(found);
    const task = JSON.stringify(rollout.input);
    return [
      rollout.rolloutId,
      rollout.status,
      rollout.mode ?? '-',
      reward === null ? '-' : String(Number(reward.toPrecision(4))),
      String(record['attempts']),
      String(record['started']).slice(0, 19).replace('T', ' '),
      typeof record['seconds'] === 'number' ? record['seconds'].toFixed(2) : '-',
      task.length > longestTask ? `${task.slice(0, longestTask - 1)}…` : task,
    ];
  });
  return textTable(header, rows);
}

/** Maximum of `--limit`. */
const maxRollouts = 1000;

function moreLines(shown: number, total: number): string[] {
  if (total <= shown) return [];
  const remedy = total <= maxRollouts ? `--limit ${total} shows all.` : 'a higher --limit shows up to 1,000.';
  return ['', `${total - shown} more; ${remedy}`];
}

function unindexedLines(unindexed: number): string[] {
  return unindexed > 0 ? ['', `The text of ${unindexed} rollouts is not indexed yet; run the command again.`] : [];
}
