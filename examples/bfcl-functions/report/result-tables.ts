import { type Condition, comparisonTable, conditionRunsTable, readCondition } from './conditions.ts';
import { outcomes, shareOf } from './held-out-measures.ts';
import { decimal, table } from './markdown.ts';
import { type RunResult, readResults } from './read-results.ts';
import { stepTable } from './run-table.ts';

/** The tables of GRPO and its controls, by name. */
export function resultTables(): ReadonlyMap<string, string> {
  const [warmUp] = readResults(['warm-up']);
  const grpo = readCondition('GRPO', ['grpo-1', 'grpo-2', 'grpo-3']);
  const controls = [
    readCondition('shuffled rewards', ['shuffled-1', 'shuffled-2']),
    readCondition('learning rate 0', ['zero-rate-1']),
    readCondition('own successes', ['own-successes-1']),
  ];
  const all = [grpo, ...controls];
  const runs = all.flatMap((condition) => condition.runs);
  // The initial weights, evaluated with three different seeds.
  const start = { name: 'start', runs: grpo.runs, after: grpo.before };
  return new Map([
    ['runs', conditionRunsTable(all, warmUp)],
    ['comparison', comparisonTable(grpo, [start, ...controls])],
    ['failures', failureTable([start, ...all])],
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

function failureTable(columns: readonly Pick<Condition, 'name' | 'after'>[]): string {
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
