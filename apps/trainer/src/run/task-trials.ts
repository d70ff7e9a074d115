import type { UnsolvedTask } from '@agentlightning/core/protocol';
import { z } from 'zod';

/** The rollouts of a task in a run. */
export interface TaskTrials {
  readonly task: number;
  /** Their number, without those that infrastructure failed. */
  readonly rollouts: number;
  /** Whether one of them passed, at least in part. */
  readonly isSolved: boolean;
  /** The last ones; empty for a solved task. */
  readonly latest: readonly string[];
}

/** Validates a {@link TaskTrials}. */
export const taskTrialsSchema: z.ZodType<TaskTrials> = z.object({
  task: z.int(),
  rollouts: z.int(),
  isSolved: z.boolean(),
  latest: z.array(z.string()),
});

/** A finished rollout of a task. */
export interface Trial {
  readonly task: number;
  readonly rolloutId: string;
  readonly isSolved: boolean;
}

/** Number of rollouts that show what goes wrong with a task. */
const shown = 3;

/** Adds the rollouts of a step, in any order. */
export function addTrials(earlier: readonly TaskTrials[], trials: readonly Trial[]): readonly TaskTrials[] {
  const byTask = new Map(earlier.map((each) => [each.task, each]));
  for (const { task, rolloutId, isSolved } of trials.toSorted((one, other) =>
    one.rolloutId < other.rolloutId ? -1 : 1,
  )) {
    const known = byTask.get(task) ?? { task, rollouts: 0, isSolved: false, latest: [] };
    const solved = known.isSolved || isSolved;
    const latest = solved ? [] : [...known.latest, rolloutId].slice(-shown);
    byTask.set(task, { task, rollouts: known.rollouts + 1, isSolved: solved, latest });
  }
  return [...byTask.values()].toSorted((one, other) => one.task - other.task);
}

/** The tasks that no rollout has solved in at least `limit` of them; none for null. */
export function unsolvedTasks(trials: readonly TaskTrials[], limit: number | null): readonly UnsolvedTask[] {
  return trials
    .filter(({ isSolved, rollouts }) => limit !== null && !isSolved && rollouts >= limit)
    .map(({ task, rollouts, latest }) => ({ task, rollouts, examples: latest }));
}
