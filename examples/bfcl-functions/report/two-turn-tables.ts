import { conditionRunsTable, readConditions } from './conditions.ts';
import { compare, meanOf, measures, shareOf } from './held-out-measures.ts';
import { decimal, difference, interval, table } from './markdown.ts';
import { type HeldOut, type RunResult, readResults } from './read-results.ts';

const folder = 'two-turns';

const categories = ['simple_python', 'multiple', 'irrelevance'] as const;

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
  const [grpo] = readConditions({ GRPO: ['grpo-1', 'grpo-2', 'grpo-3'] }, folder);
  if (grpo === undefined) return new Map();
  const { before, after, runs } = grpo;
  return new Map([
    ['two turns: runs', conditionRunsTable([grpo], warmUp)],
    ['two turns: categories', categoryTable(before, after)],
    ['two turns: failures', failureTable(before, after)],
    ['two turns: reward by step', rewardTable(runs)],
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

function categoryTable(before: HeldOut, after: HeldOut): string {
  const rows = categories.map((category) => {
    const [start, end] = [ofCategory(before, category), ofCategory(after, category)];
    return [
      `\`${category}\``,
      String(start.size),
      interval(meanOf(start, measures.correct)),
      interval(meanOf(end, measures.correct)),
      difference(compare(start, end, measures.correct)),
    ];
  });
  return table(['Category', 'questions', 'correct before', 'correct after', 'change'], rows);
}

function failureTable(before: HeldOut, after: HeldOut): string {
  const withFunction = (evaluation: HeldOut): HeldOut =>
    new Map([...evaluation].filter(([task]) => !task.startsWith('irrelevance')));
  const [start, end] = [withFunction(before), withFunction(after)];
  const rows = Object.entries(conversationOutcomes).map(([outcome, matches]) => [
    outcome,
    shareOf(start, matches),
    shareOf(end, matches),
  ]);
  return table(['Conversations about a question with a function', 'start', 'GRPO'], rows);
}

function ofCategory(evaluation: HeldOut, category: string): HeldOut {
  return new Map([...evaluation].filter(([task]) => task.startsWith(category)));
}
