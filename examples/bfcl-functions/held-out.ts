/**
 * Writes the held-out rewards of trainings as JSON lines, one for each task and evaluation:
 * `node held-out.ts grpo-1 grpo-2 > held-out.jsonl`; --steps is the number of steps of these runs.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { z } from 'zod';

const rolloutLine = z.object({ reward: z.number().nullable(), task: z.object({ id: z.string() }) });

const agl = path.join(import.meta.dirname, 'node_modules/@agentlightning/trainer/dist/cli/main.js');

/** The rewards of the held-out rollouts after a step, by task. */
async function heldOutRewards(store: string, run: string, step: number): Promise<ReadonlyMap<string, number[]>> {
  const filter = ['--run', run, '--mode', 'test', '--step', String(step), '--sort', 'oldest', '--limit', '1000'];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [agl, 'rollouts', ...filter, '--store', store, '--json'],
    {
      maxBuffer: 2 ** 26,
    },
  );
  const rewards = new Map<string, number[]>();
  for (const line of stdout.split('\n').filter((text) => text !== '')) {
    const { reward, task } = rolloutLine.parse(JSON.parse(line));
    if (reward !== null) rewards.set(task.id, [...(rewards.get(task.id) ?? []), reward]);
  }
  return rewards;
}

/** The order of the leaderboard. */
const byNumber = new Intl.Collator('en', { numeric: true });

const { values: flags, positionals } = parseArgs({
  options: { steps: { type: 'string', default: '6' }, store: { type: 'string', default: 'sqlite:.agl/agl.db' } },
  allowPositionals: true,
});
for (const run of positionals) {
  for (const [phase, step] of [
    ['before', 0],
    ['after', Number(flags.steps)],
  ] as const) {
    const rewards = [...(await heldOutRewards(flags.store, run, step))];
    for (const [task, values] of rewards.sort(([one], [other]) => byNumber.compare(one, other))) {
      process.stdout.write(
        `${JSON.stringify({ run, phase, task, rewards: values.sort((one, other) => other - one) })}\n`,
      );
    }
  }
}
