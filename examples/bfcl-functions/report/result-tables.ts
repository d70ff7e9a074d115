import { compare, measures, outcomes, pooled, shareOf } from './held-out-measures.ts';
import { decimal, difference, table } from './markdown.ts';
import { type HeldOut, type RunResult, readResults } from './read-results.ts';
import { runTable, seedOf, stepTable } from './run-table.ts';

/** The compared conditions with the ids of their runs, which end with the seed. */
const conditions = {
  GRPO: ['grpo-1', 'grpo-2', 'grpo-3'],
  'shuffled rewards': ['shuffled-1', 'shuffled-2'],
  'learning rate 0': ['zero-rate-1'],
  'own successes': ['own-successes-1'],
} as const;

interface Condition {
  readonly name: string;
  readonly runs: readonly RunResult[];
  readonly after: HeldOut;
}

/** The tables of the report, by name. */
export function resultTables(): ReadonlyMap<string, string> {
  const all = Object.entries(conditions).map(([name, ids]): Condition => {
    const runs = readResults(ids);
    return { name, runs, after: pooled(runs.map(({ after }) => after)) };
  });
  const runs = all.flatMap((condition) => condition.runs);
  return new Map([
    ['runs', allRunsTable(all)],
    ['comparison', comparisonTable(all)],
    ['failures', failureTable(all)],
    ['reward by step', stepTable(runs, ({ reward }) => decimal(reward))],
    [
      'log-probability gap by step',
      stepTable(
        runs,
        ({ metrics }) =>
          `${decimal(metrics['policy/logprob_gap'] ?? Number.NaN, 4)}, ${decimal(metrics['policy/logprob_gap_max'] ?? Number.NaN)}`,
      ),
    ],
    ['cost', costTable(runs)],
  ]);
}

/** The start of GRPO: the initial weights, evaluated with three different seeds. */
function startOf(all: readonly Condition[]): HeldOut {
  return pooled((all[0]?.runs ?? []).map(({ before }) => before));
}

function allRunsTable(all: readonly Condition[]): string {
  const [warmUp] = readResults(['warm-up']);
  return runTable([
    ...(warmUp === undefined ? [] : [['warm-up, seed 1', warmUp] as const]),
    ...all.flatMap(({ name, runs }) => runs.map((run) => [`${name}, seed ${seedOf(run)}`, run] as const)),
  ]);
}

function comparisonTable(all: readonly Condition[]): string {
  const [grpo, ...controls] = all;
  if (grpo === undefined) return '';
  const start = { name: 'start', runs: grpo.runs, after: startOf(all) };
  const rows = [start, ...controls].map(({ name, runs, after }) => {
    const seeds = runs.map(seedOf);
    const sameSeeds = pooled(grpo.runs.filter((run) => seeds.includes(seedOf(run))).map((run) => run.after));
    return [
      `${name} (${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')})`,
      difference(compare(after, grpo.after, measures.reward)),
      difference(compare(after, sameSeeds, measures.reward)),
      difference(compare(after, grpo.after, measures.correct)),
      difference(compare(after, grpo.after, measures.call)),
    ];
  });
  return table(['GRPO minus', 'reward', 'reward, same seeds only', 'correct', 'any call'], rows);
}

function failureTable(all: readonly Condition[]): string {
  const columns = [{ name: 'start', after: startOf(all) }, ...all];
  const rows = Object.entries(outcomes).map(([outcome, matches]) => [
    outcome,
    ...columns.map(({ after }) => shareOf(after, matches)),
  ]);
  const counts = columns.map(({ after }) => String([...after.values()].flat().length));
  return table(
    ['Held-out responses', ...columns.map(({ name }) => name)],
    [...rows, ['number of responses', ...counts]],
  );
}

function costTable(runs: readonly RunResult[]): string {
  const sum = (run: RunResult, name: string): number =>
    run.steps.reduce((total, { metrics }) => total + (metrics[name] ?? 0), 0);
  const rows = runs.map((run) => [
    run.run,
    run.seconds.toFixed(0),
    (run.steps.reduce((total, { seconds }) => total + seconds, 0) / run.steps.length).toFixed(0),
    String(sum(run, 'calls/total')),
    String(sum(run, 'tokens/trained')),
  ]);
  return table(['Run', 'seconds', 'seconds per step', 'rollouts in steps', 'trained tokens'], rows);
}
