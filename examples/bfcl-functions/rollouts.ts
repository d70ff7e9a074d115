import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const rolloutLine = z.object({ reward: z.number().nullable(), task: z.object({ id: z.string() }) });

const agl = path.join(import.meta.dirname, 'node_modules/@agentlightning/trainer/dist/cli/main.js');

/** Which rollouts; without a step, those of the whole run. Step 0 has the evaluation before training. */
export interface RolloutFilter {
  readonly run: string;
  readonly mode: 'train' | 'test';
  readonly step?: number;
}

/** The rewards of rollouts by task, oldest first. */
export async function rewardsByTask(
  store: string,
  { run, mode, step }: RolloutFilter,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const ofStep = step === undefined ? [] : ['--step', String(step)];
  const filter = ['--run', run, '--mode', mode, ...ofStep, '--sort', 'oldest', '--limit', '1000'];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [agl, 'rollouts', ...filter, '--store', store, '--json'],
    { maxBuffer: 2 ** 26 },
  );
  const rewards = new Map<string, number[]>();
  for (const line of stdout.split('\n').filter((text) => text !== '')) {
    const { reward, task } = rolloutLine.parse(JSON.parse(line));
    if (reward !== null) rewards.set(task.id, [...(rewards.get(task.id) ?? []), reward]);
  }
  return rewards;
}
