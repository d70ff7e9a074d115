import { bootstrapMean } from '@agentlightning/algorithms';
import type { JsonValue } from '@agentlightning/core';
import { judgeBySettings, pairByTask, relativePartsOf, type TaskPairs } from '../diagnosis/verdict.ts';
import type { MeasuredRewards } from '../run/stored-evaluation.ts';
import type { EvaluationComparison, TaskDifference } from './evaluation-report.ts';
import type { EvaluationSettings } from './evaluation-settings.ts';

/** Number of listed tasks with the largest gains, and with the largest losses. */
const listedTasks = 5;

/** Compares two evaluations of the same tasks and sample indexes, task by task. */
export function compareSubjects(
  { of, against }: { readonly of: MeasuredRewards; readonly against: MeasuredRewards },
  {
    tasks,
    settings,
  }: { readonly tasks: readonly JsonValue[]; readonly settings: Pick<EvaluationSettings, 'reward' | 'evaluation'> },
): EvaluationComparison {
  const { verdict, pValue, missingShare } = judgeBySettings(against, of, settings);
  const pairs = pairByTask(against, of).tasks;
  const [low, high] = settings.reward.range ?? [0, 1];
  const interval =
    pairs.length === 0
      ? null
      : bootstrapMean(
          pairs.map(({ differences }) => differences),
          { range: [low - high, high - low] },
        );
  const differences = pairs.map((pair) => taskDifference(pair, { of, against, tasks }));
  const sorted = differences.toSorted((one, other) => other.difference - one.difference);
  return {
    difference: interval?.mean ?? null,
    ci95: interval === null ? null : [interval.low, interval.high],
    pValue,
    verdict,
    ...relativePartsOf(settings.reward),
    tasks: pairs.length,
    missingShare,
    gains: sorted.filter(({ difference }) => difference > 0).slice(0, listedTasks),
    losses: sorted
      .filter(({ difference }) => difference < 0)
      .toReversed()
      .slice(0, listedTasks),
  };
}

function taskDifference(
  { task, before, after, firstIndex }: TaskPairs,
  {
    of,
    against,
    tasks,
  }: { readonly of: MeasuredRewards; readonly against: MeasuredRewards; readonly tasks: readonly JsonValue[] },
): TaskDifference {
  return {
    index: task,
    task: tasks[task] ?? null,
    of: after,
    against: before,
    difference: after - before,
    rolloutOf: of.rolloutIds[firstIndex] ?? '',
    rolloutAgainst: against.rolloutIds[firstIndex] ?? '',
  };
}
