/**
 * Writes the held-out rewards of runs as JSON lines, one for each task and evaluation:
 * `node held-out.ts grpo-1 grpo-2 > held-out.jsonl`; --steps is the number of steps of these runs. With --search they are prompt searches:
 * before is the initial prompt, after is the best one.
 */
import { parseArgs } from 'node:util';
import { rewardsByTask } from './rollouts.ts';

/** The order of the leaderboard. */
const byNumber = new Intl.Collator('en', { numeric: true });

type Rewards = ReadonlyMap<string, readonly number[]>;

const { values: flags, positionals } = parseArgs({
  options: {
    steps: { type: 'string', default: '6' },
    search: { type: 'boolean', default: false },
    store: { type: 'string', default: 'sqlite:.agl/agl.db' },
  },
  allowPositionals: true,
});
for (const run of positionals) {
  const evaluations = flags.search ? await ofSearch(run) : await ofTraining(run);
  for (const [phase, rewards] of Object.entries(evaluations)) {
    for (const [task, values] of [...rewards].sort(([one], [other]) => byNumber.compare(one, other))) {
      const sorted = values.toSorted((one, other) => other - one);
      process.stdout.write(`${JSON.stringify({ run, phase, task, rewards: sorted })}\n`);
    }
  }
}

async function ofTraining(run: string): Promise<Readonly<Record<'before' | 'after', Rewards>>> {
  const [before, after] = await Promise.all(
    [0, Number(flags.steps)].map((step) => rewardsByTask(flags.store, { run, mode: 'test', step })),
  );
  return { before: before ?? new Map(), after: after ?? new Map() };
}

/** A search evaluates its initial prompt at the start and its best one at the end, with the same number of rollouts. */
async function ofSearch(run: string): Promise<Readonly<Record<'before' | 'after', Rewards>>> {
  const all = await rewardsByTask(flags.store, { run, mode: 'test' });
  const part = (choose: (rewards: readonly number[]) => readonly number[]): Rewards =>
    new Map([...all].map(([task, rewards]) => [task, choose(rewards)]));
  return {
    before: part((rewards) => rewards.slice(0, rewards.length / 2)),
    after: part((rewards) => rewards.slice(rewards.length / 2)),
  };
}
