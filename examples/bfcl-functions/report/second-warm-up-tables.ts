import { comparisonTable, conditionRunsTable, readCondition } from './conditions.ts';
import { decimal, table } from './markdown.ts';
import { processorSeconds, type RunResult } from './read-results.ts';
import { stepTable } from './run-table.ts';

const folder = 'second-warm-up';

/** The tables of the runs that begin with the second warm-up, by name. */
export function secondWarmUpTables(): ReadonlyMap<string, string> {
  const grpo = readCondition('GRPO', ['grpo-1', 'grpo-2', 'grpo-3'], folder);
  const trl = readCondition('TRL', ['trl-1', 'trl-2', 'trl-3'], folder);
  const search = readCondition('prompt search', ['prompt-search-1'], folder);
  const trained = [...grpo.runs, ...trl.runs];
  return new Map([
    ['second warm-up: runs', conditionRunsTable([grpo, trl, search])],
    ['second warm-up: comparison', comparisonTable(grpo, [trl, search])],
    ['TRL reward by step', stepTable(trained, rewardAtTime())],
    ['TRL cost', costTable(trained)],
  ]);
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
