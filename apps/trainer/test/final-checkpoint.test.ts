import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { Agent } from '@agentlightning/runner';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TrainConfig, Trainer, TrainingEvent } from '../src/index.ts';
import { countLetters, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Each test starts several runtimes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-final-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Held-out rewards by phase; rollouts of training steps have different rewards. */
const measures =
  (rewards: Readonly<Record<string, number>>): Agent<SmallTask> =>
  async (task, context) => {
    const letters = await countLetters(task, context);
    return rewards[String(context.metadata?.['phase'])] ?? letters;
  };

/** A run whose best evaluation is that of step 2. */
const fallingAgent = measures({
  before: 0.5,
  'during-0': 0.5,
  'during-2': 1,
  'during-4': 0.2,
  'after-4': 0.2,
  'after-4-with-2': 0.9,
});

const falling = (changes: Partial<TrainConfig<SmallTask>> = {}): Trainer<SmallTask> =>
  smallTrainer(folder, {
    agent: fallingAgent,
    steps: 4,
    algorithm: { type: 'grpo', groupSize: 2, learningRate: 1e-2 },
    evaluation: { every: 2 },
    checkpoints: { keep: 1, every: 3 },
    // Evaluated steps are saved besides.
    ...changes,
  });

function evaluationsOf(events: readonly TrainingEvent[]): readonly (readonly [phase: string, step: number])[] {
  return events.flatMap((event) => (event.type === 'evaluated' ? [[event.phase, event.step] as const] : []));
}

/** The policy versions of the model calls of a phase. */
async function versionsOf(runId: string, phase: string): Promise<ReadonlySet<number | null>> {
  return await withStore(folder, async (store) => {
    const { items } = await store.queryRollouts({ runId });
    const rollouts = items.filter(({ metadata }) => metadata?.['phase'] === phase);
    expect(rollouts.length).toBeGreaterThan(0);
    const spans = await Promise.all(
      rollouts.map(({ rolloutId }) => store.querySpans({ rolloutId, attemptId: 'latest' })),
    );
    return new Set(
      spans.flatMap(({ items: found }) => found.flatMap((span) => modelCallFromSpan(span)?.policyVersion ?? [])),
    );
  });
}

test('a run ends with its best checkpoint, also after a stop, and continues from its last', async () => {
  const stop = new AbortController();
  const onEvent = (event: TrainingEvent): void => {
    if (event.type === 'evaluated' && event.step === 4) stop.abort();
  };
  const stopped = await trainSmall(falling(), { runId: 'falling-reward', signal: stop.signal, onEvent });
  expect(stopped.error).toMatchObject({ code: 'CANCELLED' });
  const { events, error } = await trainSmall(falling(), { resume: 'falling-reward' });
  expect(error).toBeNull();
  expect([...evaluationsOf(stopped.events), ...evaluationsOf(events)]).toEqual([
    ['before', 0],
    ['during', 2],
    ['during', 4],
    ['after', 2],
  ]);
  const final = { step: 2, selectedOn: 'test', candidates: 2 };
  expect(events.at(-1)).toMatchObject({ summary: { after: { reward: 0.9 }, training: { ended: 'steps', final } } });
  expect(await versionsOf('falling-reward', 'after-4-with-2')).toEqual(await versionsOf('falling-reward', 'during-2'));
  const { state } = await withStore(folder, (store) => store.getRun('falling-reward'));
  expect(state).toMatchObject({ finalStep: 2, checkpoint: { step: 4 }, checkpoints: [{ step: 2 }, { step: 4 }] });

  const more = await trainSmall(falling({ steps: 5 }), { resume: 'falling-reward' });
  expect(more.events[0]).toMatchObject({ type: 'started', firstStep: 5 });
  // Step 5 has more letters than any reward before.
  expect(evaluationsOf(more.events)).toEqual([['after', 5]]);
  expect(more.events.at(-1)).toMatchObject({ summary: { training: { final: { step: 5, candidates: 3 } } } });
});

test('validation tasks select the checkpoint, and test tasks measure it', async () => {
  const tasks = Array.from({ length: 8 }, (_, index) => ({ question: `Number ${index}?`, index }));
  const { events, error } = await trainSmall(
    falling({ tasks: { train: tasks, test: tasks.slice(0, 4), validation: tasks.slice(4, 7) } }),
    { runId: 'validated' },
  );
  expect(error).toBeNull();
  expect(evaluationsOf(events)).toEqual([
    ['before', 0],
    ['during', 0],
    ['during', 2],
    ['during', 4],
    ['after', 2],
  ]);
  const rollouts = events.flatMap((event) => (event.type === 'evaluated' ? [event.summary.rollouts] : []));
  // The selected checkpoint is measured with four rollouts of each task.
  expect(rollouts).toEqual([4, 3, 3, 3, 16]);
  const final = { step: 2, selectedOn: 'validation', candidates: 2 };
  expect(events.at(-1)).toMatchObject({ summary: { after: { reward: 0.9 }, training: { final } } });
});

test('of equal evaluations, the last one is the best, and three perfect ones end with a verdict', async () => {
  const tasks = Array.from({ length: 8 }, (_, index) => ({ question: `Number ${index}?`, index }));
  const perfect = measures({ before: 0.4, 'during-1': 1, 'during-2': 1, 'after-3': 1 });
  const { events } = await trainSmall(
    falling({
      agent: perfect,
      steps: 3,
      evaluation: { every: 1 },
      tasks: { train: tasks, test: tasks.map(({ index }) => ({ question: `Letter ${index}?`, index })) },
    }),
    { runId: 'perfect-thrice' },
  );
  expect(evaluationsOf(events).at(-1)).toEqual(['after', 3]);
  const final = { step: 3, candidates: 3 };
  expect(events.at(-1)).toMatchObject({ summary: { verdict: 'better', caveats: [], training: { final } } });
});

test('a run can end with its last checkpoint', async () => {
  const { events } = await trainSmall(falling({ checkpoints: { finish: 'last' } }), { runId: 'last' });
  expect(evaluationsOf(events)).toEqual([
    ['before', 0],
    ['during', 2],
    ['after', 4],
  ]);
  const final = { step: 4, selectedOn: null };
  expect(events.at(-1)).toMatchObject({ summary: { after: { reward: 0.2 }, training: { final } } });
});
