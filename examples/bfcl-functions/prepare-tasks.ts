import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { fetchPackage } from '../../tools/smollm2/fetch-package.ts';
import { type BfclTask, functionSchema } from './task.ts';

/** The leaderboard's own package, under the Apache licence. */
const distribution = 'bfcl-eval==2026.3.23';

const categories = ['simple_python', 'multiple', 'irrelevance'] as const;

const cache = path.join(import.meta.dirname, 'node_modules/.cache');

/** A line of the leaderboard's questions. */
const questionLine = z.object({
  id: z.string(),
  question: z.tuple([z.tuple([z.object({ role: z.literal('user'), content: z.string() })])]),
  function: z.array(functionSchema).min(1),
});

/** The folder of the package, downloaded once. */
export async function fetchLeaderboard(python: string): Promise<string> {
  return await fetchPackage({ python, distribution, cache });
}

/** Tasks of the leaderboard, by whether they are held out: every fourth id of each category. */
export async function readTasks(
  leaderboard: string,
): Promise<{ readonly train: BfclTask[]; readonly test: BfclTask[] }> {
  const data = path.join(leaderboard, 'bfcl_eval/data');
  const train: BfclTask[] = [];
  const test: BfclTask[] = [];
  for (const category of categories) {
    const name = `BFCL_v4_${category}.json`;
    const answers = category === 'irrelevance' ? [] : await lines(path.join(data, 'possible_answer', name));
    for (const [index, line] of (await lines(path.join(data, name))).entries()) {
      const { id, question, function: functions } = questionLine.parse(JSON.parse(line));
      const expected = category === 'irrelevance' ? null : groundTruth(answers[index] ?? '', id);
      const task = { id, question: question[0][0].content, functions, expected };
      (taskNumber(id) % 4 === 0 ? test : train).push(task);
    }
  }
  return { train, test };
}

/** The tasks of the experiment: of `simple_python`, with at most 600 characters of question and function. */
export function shortTasks(tasks: readonly BfclTask[]): readonly BfclTask[] {
  return tasks.filter((task) => task.id.startsWith('simple_python') && sizeOf(task) <= 600);
}

/** The tasks of the experiment with two turns: the shortest ones of each category, the same number of each. */
export function tasksOfAllCategories(tasks: readonly BfclTask[], each: number): readonly BfclTask[] {
  return categories.flatMap((category) => {
    const ofCategory = tasks.filter(({ id }) => id.startsWith(category));
    return ofCategory.toSorted((one, other) => sizeOf(one) - sizeOf(other)).slice(0, each);
  });
}

/** Number of training tasks by which the prompt search selects. */
const validationTasks = 40;

/** Writes the tasks of the experiments into the cache of the configurations. */
export async function prepareTasks(python: string): Promise<void> {
  const all = await readTasks(await fetchLeaderboard(python));
  const train = shortTasks(all.train);
  const folder = path.join(cache, 'tasks');
  await mkdir(folder, { recursive: true });
  const files = {
    train,
    test: shortTasks(all.test),
    'search-train': train.slice(validationTasks),
    'search-validation': train.slice(0, validationTasks),
    'two-turns-train': tasksOfAllCategories(all.train, 40),
    'two-turns-test': tasksOfAllCategories(all.test, 16),
  };
  for (const [name, tasks] of Object.entries(files)) {
    const lines = tasks.map((task) => `${JSON.stringify(task)}\n`);
    await writeFile(path.join(folder, `${name}.jsonl`), lines.join(''));
  }
}

/** Characters of question and functions. */
function sizeOf({ question, functions }: BfclTask): number {
  return question.length + JSON.stringify(functions).length;
}

/** The number of a task within its category. */
function taskNumber(id: string): number {
  return Number(/\d+/.exec(id)?.[0]);
}

/** The text of the only right call, in which numbers are as they were written. */
function groundTruth(line: string, id: string): string {
  const text = /"ground_truth": \[(.*)\]\}$/.exec(line)?.[1];
  if (text === undefined || !line.includes(`"${id}"`)) throw new Error(`${id} has no answer in ${distribution}.`);
  return text;
}

async function lines(file: string): Promise<readonly string[]> {
  return (await readFile(file, 'utf8')).trim().split('\n');
}
