import { compare, measures, pooled } from './held-out-measures.ts';
import { decimal, difference, table } from './markdown.ts';
import { processorSeconds, type RunResult, readResults } from './read-results.ts';
import { runTable, seedOf, stepTable } from './run-table.ts';

const folder = 'second-warm-up';

/** The tables of the runs that begin with the second warm-up, by name. */
export function secondWarmUpTables(): ReadonlyMap<string, string> {
  const ours = readResults(['grpo-1', 'grpo-2'], folder);
  const theirs = readResults(['trl-1'], folder);
  const searches = readResults(['prompt-search-1'], folder);
  return new Map([
    [
      'second warm-up: runs',
      runTable([...named('GRPO', ours), ...named('TRL', theirs), ...named('prompt search', searches)]),
    ],
    ['second warm-up: comparison', comparisonTable(ours, [...theirs, ...searches])],
    ['TRL reward by step', stepTable([...ours, ...theirs], rewardAtTime())],
    ['TRL cost', costTable([...ours, ...theirs])],
  ]);
}

function named(name: string, runs: readonly RunResult[]): readonly (readonly [string, RunResult])[] {
  return runs.map((run) => [`${name}, seed ${seedOf(run)}`, run]);
}

/** Both seeds of GRPO together, and the one with the same seed, minus each other run. */
function comparisonTable(ours: readonly RunResult[], others: readonly RunResult[]): string {
  const all = pooled(ours.map(({ after }) => after));
  const rows = others.map((other) => {
    const sameSeed = pooled(ours.filter((run) => seedOf(run) === seedOf(other)).map(({ after }) => after));
    return [
      other.run,
      difference(compare(other.after, all, measures.reward)),
      difference(compare(other.after, sameSeed, measures.reward)),
      difference(compare(other.after, all, measures.correct)),
      difference(compare(other.after, all, measures.call)),
    ];
  });
  return table(['GRPO minus', 'reward', 'reward, same seed only', 'correct', 'any call'], rows);
}

/** The reward of a step with the seconds of steps up to its end. */
function rewardAtTime(): (step: RunResult['steps'][number]) => string {
  let elapsed = 0;
  return ({ step, reward, seconds }) => {
    elapsed = step === 1 ? seconds : elapsed + seconds;
    return `${decimal(reward)} at ${elapsed.toFixed(0)} s`;
  };
}

function costTable(runs: readonly RunResult[]): string {
  const processor = processorSeconds(folder);
  const rows = runs.map((run) => [
    run.run,
    run.seconds.toFixed(0),
    (run.steps.reduce((total, { seconds }) => total + seconds, 0) / run.steps.length).toFixed(0),
    String(processor[run.run]),
  ]);
  return table(['Run', 'seconds', 'seconds per step', 'processor seconds'], rows);
}
