import { comparePairs } from '@agentlightning/algorithms';
import { compareMeans } from '@agentlightning/algorithms/internal';
import type { Run } from '@agentlightning/core';
import { z } from 'zod';
import type { RunDifference } from '../api/run-views.ts';
import { meanOf } from './down-sample.ts';

/** The rewards of the last evaluation, as trainings and prompt searches record them. */
const measured = z.object({
  after: z.object({
    rewards: z.array(z.number().nullable()).min(1),
    rolloutsPerTask: z.int().min(1).default(1),
  }),
});

/** The digest of the evaluated tasks in the recorded configuration. */
const recordedTasks = z.object({ rollouts: z.object({ 'tasks.test': z.string() }) });

/**
 * Compares the last held-out rewards of two runs by their means of tasks: one by one where both evaluated the same tasks,
 * as independent samples otherwise.
 */
export function compareRuns(base: Run, run: Run): RunDifference {
  const [before, after] = [taskMeans(base), taskMeans(run)];
  const isPaired = tasksOf(base) !== null && tasksOf(base) === tasksOf(run) && before.length === after.length;
  const pairs = before.flatMap((value, task) => {
    const other = after[task] ?? null;
    return value === null || other === null ? [] : [[value, other] as const];
  });
  const ours = isPaired ? pairs.map(([value]) => value) : before.filter((value) => value !== null);
  const theirs = isPaired ? pairs.map(([, value]) => value) : after.filter((value) => value !== null);
  if (ours.length === 0 || theirs.length === 0) {
    return { runId: run.runId, difference: null, ci95: null, pValue: null, isPaired };
  }
  const { difference, low, high, pValue } = (isPaired ? comparePairs : compareMeans)(ours, theirs);
  const isKnown = Number.isFinite(low) && Number.isFinite(pValue);
  return {
    runId: run.runId,
    difference,
    ci95: isKnown ? [low, high] : null,
    pValue: isKnown ? pValue : null,
    isPaired,
  };
}

/** The mean reward of each task; null without a reward, and no task for a run without recorded rewards. */
function taskMeans({ state }: Run): readonly (number | null)[] {
  const { data } = measured.safeParse(state);
  if (data === undefined) return [];
  const { rewards, rolloutsPerTask } = data.after;
  return Array.from({ length: Math.ceil(rewards.length / rolloutsPerTask) }, (_, task) =>
    meanOf(rewards.slice(task * rolloutsPerTask, (task + 1) * rolloutsPerTask).filter((reward) => reward !== null)),
  );
}

function tasksOf({ config }: Run): string | null {
  return recordedTasks.safeParse(config).data?.rollouts['tasks.test'] ?? null;
}
