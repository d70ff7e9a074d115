import * as z from 'zod';
import type { UnsolvedTask } from './training-event.ts';

/** The rollouts of a training task in a run. */
export interface TaskTrials {
  readonly task: number;
  /** Their number, without those that infrastructure failed. */
  readonly rollouts: number;
  /** Whether one of them passed, at least in part. */
  readonly isSolved: boolean;
  /** The last ones; empty for a solved task. */
  readonly latest: readonly string[];
}

/** Validates a {@link TaskTrials}. A function, so that it does not enter the bundle of a page that does not call it. */
export function taskTrialsSchema(): z.ZodType<TaskTrials> {
  return z.object({ task: z.int(), rollouts: z.int(), isSolved: z.boolean(), latest: z.array(z.string()) });
}

/** The tasks that no rollout has solved in at least `limit` of them; none for null. */
export function unsolvedTasks(trials: readonly TaskTrials[], limit: number | null): readonly UnsolvedTask[] {
  return trials
    .filter(({ isSolved, rollouts }) => limit !== null && !isSolved && rollouts >= limit)
    .map(({ task, rollouts, latest }) => ({ task, rollouts, examples: latest }));
}
