import type { TaskTrials } from '@agentlightning/core/protocol';

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
