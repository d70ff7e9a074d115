/**
 * The tasks and the rewards of the example for the script of TRL: `node trl/serve-tasks.ts --run grpo-1` writes one line with the training tasks
 * in the order of that run and the held-out tasks, then the reward of the calls on each line of standard input.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { gradeCalls } from '../agent.ts';
import { rewardsByTask } from '../rollouts.ts';
import { type BfclTask, bfclTask } from '../task.ts';
import { toolsOf } from '../tools.ts';

const callsLine = z.object({
  id: z.string(),
  calls: z.array(z.object({ name: z.string(), arguments: z.string() })),
});

const { values: flags } = parseArgs({
  options: {
    run: { type: 'string' },
    steps: { type: 'string', default: '6' },
    store: { type: 'string', default: 'sqlite:.agl/agl.db' },
  },
});
if (flags.run === undefined) throw new Error('--run is missing: the run whose order of tasks TRL repeats.');

const train = await readTasks('train');
const test = await readTasks('test');
const order: string[] = [];
for (let step = 1; step <= Number(flags.steps); step += 1) {
  order.push(...(await rewardsByTask(flags.store, { run: flags.run, mode: 'train', step })).keys());
}
write({ train: order.map((id) => promptOf(taskById(train, id))), test: test.map(promptOf) });

for await (const line of createInterface({ input: process.stdin })) {
  const { id, calls } = callsLine.parse(JSON.parse(line));
  write(gradeCalls(taskById([...train, ...test], id), calls).primary);
}

/** What the agent sends to the model. */
function promptOf({ id, question, functions }: BfclTask) {
  return { id, messages: [{ role: 'user', content: question }], tools: toolsOf(functions) };
}

function taskById(tasks: readonly BfclTask[], id: string): BfclTask {
  const task = tasks.find((candidate) => candidate.id === id);
  if (task === undefined) throw new Error(`There is no task ${id}.`);
  return task;
}

async function readTasks(name: string): Promise<readonly BfclTask[]> {
  const text = await readFile(path.join(import.meta.dirname, `../node_modules/.cache/tasks/${name}.jsonl`), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => bfclTask.parse(JSON.parse(line)));
}

function write(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
