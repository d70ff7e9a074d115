import { readRunProgress } from '@agentlightning/core/protocol';
import type { GroupStatistics } from '@agentlightning/core/store';
import type { TaskCell, TaskMap, TaskRow } from '../api/run-views.ts';
import type { DashboardStore } from './dashboard-store.ts';
import { previewOf, textPreviewOf } from './preview.ts';

/** Maximum number of runs whose groups are cached. */
const maxRuns = 20;

/** Number of rollouts in one request for examples of tasks. */
const exampleCount = 500;

/** The start of a task's input. */
type TaskPreview = Pick<TaskRow, 'preview' | 'text'>;

/** What is known of a run. */
interface KnownGroups {
  /** The groups of finished steps, which do not change, by step and task. */
  readonly finished: Map<string, GroupStatistics>;
  /** The start of the input of each task. */
  readonly previews: Map<number, TaskPreview>;
  /** Rollouts that were enqueued earlier belong to finished steps; null when nothing is known. */
  sinceMs: number | null;
}

/** Reads the training rollouts of runs by task and step. */
export class TaskMaps {
  readonly #store: DashboardStore;
  readonly #runs = new Map<string, KnownGroups>();

  constructor(store: DashboardStore) {
    this.#store = store;
  }

  /**
   * The task map of a run.
   *
   * @throws NotFoundError for an unknown run
   */
  async read(runId: string): Promise<TaskMap> {
    // Before the groups: the groups of steps that are finished now will not change.
    const finishedStep = readRunProgress(await this.#store.getRun(runId)).finishedStep;
    const known = this.#known(runId);
    const { finished, sinceMs } = known;
    const read = await this.#store.groupStatistics(runId, sinceMs === null ? {} : { startTimeFromMs: sinceMs });
    const isUnfinished = ({ step }: GroupStatistics): boolean => step > finishedStep;
    const unfinished = read.filter(isUnfinished);
    for (const group of read) {
      const key = `${group.step}/${group.taskIndex}`;
      if (!isUnfinished(group) && !finished.has(key)) finished.set(key, group);
    }
    known.sinceMs = nextSince(unfinished, finished.values());
    const groups = [...finished.values(), ...unfinished];
    await this.#readPreviews(known, groups);
    return taskMap(groups, known.previews);
  }

  #known(runId: string): KnownGroups {
    const known = this.#runs.get(runId) ?? { finished: new Map(), previews: new Map(), sinceMs: null };
    this.#runs.delete(runId);
    this.#runs.set(runId, known);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > maxRuns && oldest !== undefined) this.#runs.delete(oldest);
    return known;
  }

  async #readPreviews({ previews }: KnownGroups, groups: readonly GroupStatistics[]): Promise<void> {
    const examples = new Map<string, number>();
    const seen = new Set(previews.keys());
    for (const { taskIndex, rolloutId } of groups) {
      if (seen.has(taskIndex)) continue;
      seen.add(taskIndex);
      examples.set(rolloutId, taskIndex);
    }
    const ids = [...examples.keys()];
    for (let start = 0; start < ids.length; start += exampleCount) {
      const { items } = await this.#store.queryRollouts({ rolloutIdIn: ids.slice(start, start + exampleCount) });
      for (const { rolloutId, input } of items) {
        previews.set(examples.get(rolloutId) ?? 0, { preview: previewOf(input), text: textPreviewOf(input) });
      }
    }
  }
}

function nextSince(unfinished: readonly GroupStatistics[], finished: Iterable<GroupStatistics>): number | null {
  let since: number | null = null;
  for (const { firstStartTimeMs } of unfinished) since = Math.min(since ?? firstStartTimeMs, firstStartTimeMs);
  if (since !== null) return since;
  for (const { lastStartTimeMs } of finished) since = Math.max(since ?? lastStartTimeMs, lastStartTimeMs);
  return since;
}

function taskMap(groups: readonly GroupStatistics[], previews: ReadonlyMap<number, TaskPreview>): TaskMap {
  const tasks = new Map<number, TaskCell[]>();
  let range: readonly [low: number, high: number] | null = null;
  for (const group of groups) {
    const cell = cellOf(group);
    const cells = tasks.get(group.taskIndex);
    if (cells === undefined) tasks.set(group.taskIndex, [cell]);
    else cells.push(cell);
    const { reward } = cell;
    if (reward !== null) range = [Math.min(reward, range?.[0] ?? reward), Math.max(reward, range?.[1] ?? reward)];
  }
  return {
    steps: [...new Set(groups.map(({ step }) => step))].sort((one, other) => one - other),
    tasks: [...tasks]
      .sort(([one], [other]) => one - other)
      .map(
        ([taskIndex, cells]): TaskRow => ({
          taskIndex,
          ...(previews.get(taskIndex) ?? { preview: '', text: '' }),
          cells: cells.sort((one, other) => one.step - other.step),
        }),
      ),
    range,
  };
}

function cellOf({ step, rollouts, failed, meanReward, minReward, maxReward }: GroupStatistics): TaskCell {
  const spread = minReward === null || maxReward === null ? null : maxReward - minReward;
  return { step, reward: meanReward, spread, rollouts, failed };
}
