import { compare, meanOf, measures } from './held-out-measures.ts';
import { difference, interval, table } from './markdown.ts';
import type { RunResult } from './read-results.ts';

/** The seed of a run, with which its id ends. */
export function seedOf({ run }: RunResult): string {
  return run.split('-').at(-1) ?? '';
}

/** The held-out results of runs before and after training, by the name of the run. */
export function runTable(runs: readonly (readonly [name: string, run: Pick<RunResult, 'before' | 'after'>])[]): string {
  const header = ['Run', 'reward before', 'reward after', 'change', 'correct before', 'correct after'];
  const rows = runs.map(([name, { before, after }]) => [
    name,
    interval(meanOf(before, measures.reward)),
    interval(meanOf(after, measures.reward)),
    difference(compare(before, after, measures.reward)),
    interval(meanOf(before, measures.correct)),
    interval(meanOf(after, measures.correct)),
  ]);
  return table(header, rows);
}

/** A column for each step, with a cell of each run. */
export function stepTable(runs: readonly RunResult[], cell: (step: RunResult['steps'][number]) => string): string {
  const numbers = runs[0]?.steps.map(({ step }) => `step ${step}`) ?? [];
  return table(
    ['Run', ...numbers],
    runs.map(({ run, steps }) => [run, ...steps.map(cell)]),
  );
}
