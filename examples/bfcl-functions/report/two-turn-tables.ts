import { type Condition, conditionRunsTable, readCondition } from './conditions.ts';
import { compare, meanOf, measures, shareOf } from './held-out-measures.ts';
import { decimal, difference, interval, table } from './markdown.ts';
import { type HeldOut, type RunResult, readResults } from './read-results.ts';
import { stepTable } from './run-table.ts';

const folder = 'two-turns';

const isIrrelevance = (task: string): boolean => task.startsWith('irrelevance');
const hasFunction = (task: string): boolean => !isIrrelevance(task);

/** The categories of questions, by their task ids. */
const categories: Readonly<Record<string, (task: string) => boolean>> = {
  '`simple_python`': (task) => task.startsWith('simple_python'),
  '`multiple`': (task) => task.startsWith('multiple'),
  'both of these': hasFunction,
  '`irrelevance`': isIrrelevance,
};

/** What is wrong with a conversation about a question with a function, by its reward: see the README of the example. */
const conversationOutcomes = {
  'no call': (reward) => reward === 0,
  'a wrong call': (reward) => reward > 0 && reward < 0.5,
  'the right call, and its result is not reported': (reward) => reward === 0.5,
  correct: (reward) => reward === 1,
} as const satisfies Readonly<Record<string, (reward: number) => boolean>>;

/** The tables of the experiment with two turns, by name. */
export function twoTurnTables(): ReadonlyMap<string, string> {
  const [warmUp] = readResults(['warm-up'], folder);
  const small = readCondition('8 tasks a step', ['grpo-1', 'grpo-2', 'grpo-3'], folder);
  const large = readCondition('24 tasks a step', ['batches-1', 'batches-2', 'batches-3'], folder);
  return new Map([
    ['two turns: runs', conditionRunsTable([small, large], warmUp)],
    ['two turns: comparison', batchesTable(small.after, large.after)],
    ['two turns: categories', categoryTable([small, large])],
    ['two turns: irrelevance', irrelevanceTable([...small.runs, ...large.runs])],
    ['two turns: failures', failureTable([{ name: 'start', after: small.before }, small, large])],
    ['two turns: reward by step', rewardTable(small.runs)],
    ['two turns: reward by step of larger batches', stepTable(large.runs, ({ reward }) => decimal(reward))],
  ]);
}

const stepsInRow = 6;

function rewardTable(runs: readonly RunResult[]): string {
  const rows = runs.flatMap(({ run, steps }) =>
    numbers(steps.length / stepsInRow).map((row) => {
      const first = (row - 1) * stepsInRow;
      const rewards = steps.slice(first, first + stepsInRow).map(({ reward }) => decimal(reward));
      return [`${run}, from ${first + 1}`, ...rewards];
    }),
  );
  return table(['Run, step', ...numbers(stepsInRow).map((number) => `+${number - 1}`)], rows);
}

/** From 1 to `count`. */
function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function batchesTable(small: HeldOut, large: HeldOut): string {
  const compared = [measures.reward, measures.correct].map((measure) => difference(compare(small, large, measure)));
  return table(['After training', 'reward', 'correct'], [['24 minus 8 tasks a step', ...compared]]);
}

function categoryTable(conditions: readonly Condition[]): string {
  const rows = conditions.flatMap(({ name, before, after }) =>
    Object.entries(categories).map(([category, includes]) => {
      const [start, end] = [withTasks(before, includes), withTasks(after, includes)];
      return [
        `${name}: ${category}`,
        interval(meanOf(start, measures.correct)),
        interval(meanOf(end, measures.correct)),
        difference(compare(start, end, measures.correct)),
      ];
    }),
  );
  return table(['Category', 'correct before', 'correct after', 'change'], rows);
}

function irrelevanceTable(runs: readonly RunResult[]): string {
  const rows = runs.map(({ run, before, after }) => [
    run,
    ...[before, after].map((evaluation) =>
      decimal(meanOf(withTasks(evaluation, isIrrelevance), measures.correct).mean),
    ),
  ]);
  return table(['`irrelevance`', 'correct before', 'correct after'], rows);
}

function failureTable(columns: readonly Pick<Condition, 'name' | 'after'>[]): string {
  const rows = Object.entries(conversationOutcomes).map(([outcome, matches]) => [
    outcome,
    ...columns.map(({ after }) => shareOf(withTasks(after, hasFunction), matches)),
  ]);
  return table(['Conversations about a question with a function', ...columns.map(({ name }) => name)], rows);
}

function withTasks(evaluation: HeldOut, includes: (task: string) => boolean): HeldOut {
  return new Map([...evaluation].filter(([task]) => includes(task)));
}
