import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TrainConfig, TrainingEvent } from '../src/index.ts';
import { ask, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Each test starts a runtime, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
let runId = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-diagnosis-'));
  runId = path.basename(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const train = (changes: Partial<TrainConfig<SmallTask>>) => trainSmall(smallTrainer(folder, changes), { runId });

const warningsOf = (events: readonly TrainingEvent[]): readonly string[] =>
  events.flatMap((event) =>
    event.type === 'warning' && event.condition !== undefined
      ? [`${event.condition.step} ${event.condition.name}`]
      : [],
  );

const metricsOf = (events: readonly TrainingEvent[]): readonly Readonly<Record<string, number>>[] =>
  events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));

/** The same reward for every response. */
const alwaysOne = async (task: SmallTask): Promise<number> => {
  await ask(task);
  return 1;
};

test('a warning of `stop.warnings` ends the run, with a checkpoint, an evaluation, and the warning in the store', async () => {
  const { events, error } = await train({
    agent: alwaysOne,
    steps: 6,
    checkpoints: { every: 100 },
    stop: { warnings: ['constant-groups'] },
    algorithm: { type: 'grpo', groupSize: 2, entropyCoefficient: 0.1 },
  });
  expect(error).toBeNull();
  const expected = ['3 constant-rewards'];
  expect(warningsOf(events)).toEqual(expected);
  expect(events.at(-1)).toMatchObject({ type: 'finished', summary: { training: { ended: 'warning' } } });
  // The entropy bonus alone takes no step.
  for (const metrics of metricsOf(events)) expect(metrics).not.toHaveProperty('policy/version');
  const { status, state } = await withStore(folder, (store) => store.getRun(runId));
  expect(status).toBe('finished');
  expect(state).toMatchObject({ finishedStep: 3, checkpoint: { step: 3 } });
  expect(state['warnings']).toMatchObject(expected.map((text) => ({ step: 3, name: text.slice(2), policy: null })));

  const again = await trainSmall(smallTrainer(folder, { agent: alwaysOne, steps: 4 }), { resume: runId });
  expect(warningsOf(again.events)).toEqual([]);
  expect(again.events.at(-1)).toMatchObject({ summary: { training: { ended: 'steps' } } });
});

test('selectors that match no agent end the run in step 1, with the agents seen', async () => {
  const algorithm = { type: 'grpo', groupSize: 2, agents: ['writer'] } as const;
  const { events, error } = await train({ algorithm, steps: 2 });
  expect(error).toMatchObject({ code: 'CONFIG' });
  expect(String(error)).toContain(`match no model call of step 1; agents seen: unknown agent at ${runId} (8)`);
  expect(metricsOf(events)).toEqual([]);
});

test('failures are counted by cause, and rewards out of range are reported', async () => {
  const agent = async (task: SmallTask): Promise<number | undefined> => {
    const answer = await ask(task);
    if (task.index === 0) throw new Error('a careless agent');
    if (task.index === 1) return await new Promise<never>(() => undefined);
    return task.index === 2 ? undefined : 3 + answer.length;
  };
  const { events, error } = await train({
    agent,
    tasksPerStep: 8,
    limits: { rolloutTimeoutMs: 4000 },
    reward: { range: [0, 2] },
  });
  expect(error).toBeNull();
  expect(metricsOf(events)).toMatchObject([
    {
      'failures/agent_error': 2,
      'failures/timeout': 2,
      'failures/crash': 0,
      'failures/model_error': 0,
      'failures/no_reward': 2,
      'reward/out_of_range': 10,
    },
  ]);
  expect(warningsOf(events)).toContain('1 reward-out-of-range');
  expect(warningsOf(events)).toContain('0 missing-rewards');
});
