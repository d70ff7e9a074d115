import type { RolloutRow } from '../api/rollout-views.ts';
import type { TaskCell, TaskMap, TaskRow } from '../api/run-views.ts';
import type { DashboardStore } from './dashboard-store.ts';
import { meanOf } from './down-sample.ts';
import type { RolloutLists } from './rollout-lists.ts';

/** Maximum number of rollouts of a map; the newest ones. */
const maxRollouts = 50_000;

/**
 * The training rollouts of a run by task and step.
 *
 * @throws NotFoundError for an unknown run
 */
export async function readTaskMap(store: DashboardStore, lists: RolloutLists, runId: string): Promise<TaskMap> {
  await store.getRun(runId);
  const { items, total } = await store.queryRollouts({
    runId,
    modeIn: ['train'],
    sortBy: 'startTimeMs',
    sortOrder: 'desc',
    limit: maxRollouts,
  });
  const tasks = tasksOf(await lists.rows(items));
  const cells = tasks.flatMap((task) => task.cells);
  const rewards = cells.flatMap(({ reward }) => reward ?? []);
  return {
    steps: [...new Set(cells.map(({ step }) => step))].sort((one, other) => one - other),
    tasks,
    range: rewards.length === 0 ? null : [Math.min(...rewards), Math.max(...rewards)],
    isTruncated: total > items.length,
  };
}

function tasksOf(rows: readonly RolloutRow[]): readonly TaskRow[] {
  const groups = new Map<number, Map<number, RolloutRow[]>>();
  for (const row of rows) {
    if (row.taskIndex === null || row.step === null) continue;
    const steps = groups.get(row.taskIndex) ?? new Map<number, RolloutRow[]>();
    groups.set(row.taskIndex, steps);
    const cell = steps.get(row.step);
    if (cell === undefined) steps.set(row.step, [row]);
    else cell.push(row);
  }
  return [...groups]
    .sort(([one], [other]) => one - other)
    .map(([taskIndex, steps]) => ({
      taskIndex,
      preview: [...steps.values()][0]?.[0]?.preview ?? '',
      cells: [...steps].sort(([one], [other]) => one - other).map(([step, list]) => cellOf(step, list)),
    }));
}

function cellOf(step: number, rows: readonly RolloutRow[]): TaskCell {
  const rewards = rows.flatMap(({ reward }) => reward ?? []);
  return {
    step,
    reward: meanOf(rewards),
    spread: rewards.length === 0 ? null : Math.max(...rewards) - Math.min(...rewards),
    rollouts: rows.length,
    failed: rows.filter(({ status }) => status === 'failed').length,
    groupId: rows[0]?.groupId ?? null,
  };
}
