import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TrainConfig, Trainer, TrainingEvent } from '../src/index.ts';
import { AglProcess } from './agl-process.ts';
import { sharedRuntime } from './shared-runtime.ts';
import { type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Each test starts several runtimes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-warm-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const algorithm = { type: 'grpo', groupSize: 8, learningRate: 1e-2, klCoefficient: 0.1 } as const;
const trainer = (changes: Partial<TrainConfig<SmallTask>> = {}): Trainer<SmallTask> =>
  smallTrainer(folder, { algorithm, steps: 2, ...changes });

const metricsOf = (events: readonly TrainingEvent[]): readonly Readonly<Record<string, number>>[] =>
  events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));

/** The log-probabilities of the sampled tokens of the evaluation before training, and the policy versions. */
async function firstAnswers(runId: string): Promise<{ logprobs: number[]; versions: (number | null)[] }> {
  return await withStore(folder, async (store) => {
    const { items } = await store.queryRollouts({ runId, modeIn: ['test'] });
    const before = items.filter(({ metadata }) => metadata?.['phase'] === 'before');
    const calls = [];
    for (const { rolloutId } of before) {
      const { items: spans } = await store.querySpans({ rolloutId, attemptId: 'latest' });
      calls.push(...spans.flatMap((span) => modelCallFromSpan(span) ?? []));
    }
    return {
      logprobs: calls.flatMap(({ choices }) => choices.flatMap(({ responseLogprobs }) => responseLogprobs)),
      versions: calls.map(({ policyVersion }) => policyVersion),
    };
  });
}

test('a run begins with the weights of another run, and with a new optimizer', async () => {
  expect((await trainSmall(trainer(), { runId: 'warm-source' })).error).toBeNull();
  const stop = new AbortController();
  const onEvent = (event: TrainingEvent): void => {
    if (event.type === 'stepped') stop.abort();
  };
  const warm = trainer({ checkpoints: { from: 'warm-source@latest' } });
  await trainSmall(warm, { runId: 'warm', signal: stop.signal, onEvent });
  const { state } = await withStore(folder, (store) => store.getRun('warm'));
  expect(state).toMatchObject({ from: { runId: 'warm-source', step: 2 }, finishedStep: 1 });
  const { logprobs, versions } = await firstAnswers('warm');
  expect(new Set(versions)).toEqual(new Set([0]));
  expect(logprobs).not.toEqual((await firstAnswers('warm-source')).logprobs);

  // A resumed run needs the checkpoint for the KL term only, whose reference is the model as the run began.
  const resumed = await trainSmall(warm, { resume: 'warm' });
  expect(resumed.error).toBeNull();
  expect(resumed.events[0]).toMatchObject({ type: 'started', firstStep: 2 });
  expect(metricsOf(resumed.events)[0]?.['policy/kl_reference']).toBeGreaterThan(0);

  // The same weights in both: step 0 of one run begins with those of the other.
  const again = await trainSmall(trainer({ checkpoints: { from: 'warm@0' }, steps: 0 }), { runId: 'warm-again' });
  expect(again.error).toBeNull();
  expect((await firstAnswers('warm-again')).logprobs).toEqual(logprobs);

  await using runs = new AglProcess(['runs', '--store', `sqlite:${path.join(folder, 'agl.db')}`]);
  expect(await runs.exitCode()).toBe(0);
  expect(runs.output).toMatch(/RUN +FROM[\s\S]*warm +warm-source@2/);
});

test.each([
  { what: 'an unknown run', from: 'missing@best', changes: {}, expected: { code: 'NOT_FOUND' } },
  {
    what: 'an unknown step',
    from: 'known@7',
    changes: {},
    expected: { code: 'NOT_FOUND', message: expect.stringContaining('no checkpoint "7"') },
  },
  {
    what: 'another base model',
    from: 'known@latest',
    changes: { runtime: { ...sharedRuntime, model: 'tiny-chat' } },
    expected: { code: 'CONFIG', message: expect.stringContaining('base model is "tiny-random", not "tiny-chat"') },
  },
  {
    what: 'another policy',
    from: 'known@latest',
    changes: { policies: { writer: {} } },
    expected: { code: 'CONFIG', message: expect.stringContaining('no checkpoint of policy "writer"') },
  },
  {
    what: 'a model without value head',
    from: 'known@latest',
    changes: { algorithm: { type: 'ppo', groupSize: 2 } },
    expected: { code: 'RUNTIME_REJECTED', message: expect.stringContaining('another shape') },
  },
] as const)('$what is an error', async ({ from, changes, expected }) => {
  // The runtime is that of all tests.
  const runId = `known-${path.basename(folder).replace(/[^A-Za-z0-9]/g, '')}`;
  expect((await trainSmall(trainer({ steps: 0 }), { runId })).error).toBeNull();
  const warm = trainer({ ...changes, checkpoints: { from: from.replace('known', runId) } });
  expect((await trainSmall(warm, { runId: `${runId}-warm` })).error).toMatchObject(expected);
});

test('a reference to a checkpoint must name a run and a checkpoint', () => {
  expect(() => trainer({ checkpoints: { from: 'source' } })).toThrow(
    /from: must be a checkpoint of a run, such as run-1a2b@best/,
  );
});
