import { compare, measures, pooled } from './held-out-measures.ts';
import { difference, table } from './markdown.ts';
import { type HeldOut, type RunResult, readResults } from './read-results.ts';
import { runTable, seedOf } from './run-table.ts';

/** A compared condition: its runs, which differ in their seeds. */
export interface Condition {
  readonly name: string;
  readonly runs: readonly RunResult[];
  /** Their evaluations before training together. */
  readonly before: HeldOut;
  /** Their evaluations after training together. */
  readonly after: HeldOut;
}

/** Reads a condition from a folder of the report by the ids of its runs, which end with the seed. */
export function readCondition(name: string, runIds: readonly string[], folder = '.'): Condition {
  const runs = readResults(runIds, folder);
  return {
    name,
    runs,
    before: pooled(runs.map(({ before }) => before)),
    after: pooled(runs.map(({ after }) => after)),
  };
}

/** The held-out results of all runs and of their conditions, after those of a warm-up if there is one. */
export function conditionRunsTable(conditions: readonly Condition[], warmUp?: RunResult): string {
  return runTable([
    ...(warmUp === undefined ? [] : [['warm-up, seed 1', warmUp] as const]),
    ...conditions.flatMap((condition) => [
      ...condition.runs.map((run) => [`${condition.name}, seed ${seedOf(run)}`, run] as const),
      ...(condition.runs.length > 1 ? [[`${condition.name}, all seeds`, condition] as const] : []),
    ]),
  ]);
}

/** After training, all runs of one condition together minus all runs of each other one. */
export function comparisonTable(one: Condition, others: readonly Omit<Condition, 'before'>[]): string {
  const rows = others.map(({ name, runs, after }) => {
    const seeds = runs.map(seedOf);
    const sameSeeds = pooled(one.runs.filter((run) => seeds.includes(seedOf(run))).map((run) => run.after));
    return [
      `${name} (${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')})`,
      difference(compare(after, one.after, measures.reward)),
      difference(compare(after, sameSeeds, measures.reward)),
      difference(compare(after, one.after, measures.correct)),
      difference(compare(after, one.after, measures.call)),
    ];
  });
  return table([`${one.name} minus`, 'reward', 'reward, same seeds only', 'correct', 'any call'], rows);
}
