import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readRunProgress, type TrainingSummary } from '@agentlightning/core/protocol';
import { openStore } from '@agentlightning/store';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromRun, type StoredTrainConfig, Trainer, type TrainingEvent } from '../src/index.ts';
import { sharedRuntime } from './shared-runtime.ts';
import { ask, expectCatalogued, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'agl-stored-training-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tasks = Array.from({ length: 8 }, (_, index) => ({ question: `Number ${index}?`, index }));
const user = (index: number) => ({ role: 'user', content: `Number ${index}?` });
const says = (content: string) => ({ role: 'assistant', content });

/** Whether the policy says what the examples say. */
const saysYes = async (task: SmallTask): Promise<number> => ((await ask(task)) === 'yes' ? 1 : 0);

function fileOf(name: string, lineOf: (index: number) => object | readonly object[]): string {
  const lines = tasks.flatMap(({ index }) => lineOf(index)).map((line) => JSON.stringify(line));
  const file = path.join(folder, name);
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

type Changes = Partial<StoredTrainConfig<SmallTask>>;

/** A training on stored data, which ends without a verdict unless it has an agent and test tasks. */
async function train(
  changes: Changes & Pick<StoredTrainConfig, 'data'>,
  options: { readonly resume?: string; readonly runId?: string } = {},
): Promise<{ readonly summary: TrainingSummary; readonly events: readonly TrainingEvent[] }> {
  const events: TrainingEvent[] = [];
  const trainer = new Trainer<SmallTask>({
    algorithm: { type: 'sft', learningRate: 0.01 },
    runtime: sharedRuntime,
    sampling: { temperature: 1, maxTokens: 4 },
    tasksPerStep: 8,
    evaluation: { maxMissingShare: 1 },
    checkpoints: { every: 1 },
    ...changes,
    run: { dataDir: folder },
  });
  const summary = await trainer.fit({
    ...options,
    onEvent: (event) => {
      events.push(event);
      if (event.type === 'stepped') expectCatalogued(event.summary.metrics);
    },
  });
  return { summary, events };
}

describe('a file of examples', () => {
  test('is learned by sft, without a rollout in training', async () => {
    const data = fileOf('chat.jsonl', (index) => ({ messages: [user(index), says('yes')] }));
    const { summary } = await train({ data, agent: saysYes, tasks: { test: tasks.slice(0, 4) }, steps: 12 });
    expect(summary.before.reward).toBe(0);
    expect(summary.after.reward).toBe(1);
    const store = await openStore(`sqlite:${path.join(folder, 'agl.db')}`);
    const { items } = await store.queryRollouts({ runId: summary.runId });
    await store.close();
    expect(new Set(items.map(({ mode }) => mode))).toEqual(new Set(['test']));
  });

  test('without test tasks has no reward', async () => {
    const data = fileOf('unmeasured.jsonl', (index) => ({ messages: [user(index), says('yes')] }));
    const { summary } = await train({ data, steps: 2 });
    const store = await openStore(`sqlite:${path.join(folder, 'agl.db')}`);
    const run = await store.getRun(summary.runId);
    await store.close();
    expect(readRunProgress(run)).toMatchObject({ before: null, after: null, finishedStep: 2 });
  });

  test('of pairs, in both formats, is learned by dpo', async () => {
    const data = fileOf('pairs.jsonl', (index) =>
      index % 2 === 0
        ? {
            input: { messages: [user(index)] },
            preferred_output: [says('yes')],
            non_preferred_output: [says('no')],
          }
        : { prompt: [user(index)], chosen: [says('yes')], rejected: [says('no')] },
    );
    const { events } = await train({ data, algorithm: { type: 'dpo', learningRate: 0.003 }, steps: 4 });
    const metrics = events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));
    expect(metrics[0]).toMatchObject({ 'preference/pairs': 8, 'preference/loss': expect.closeTo(Math.LN2, 4) });
    expect(metrics[3]?.['preference/accuracy']).toBe(1);
    expect(metrics[3]?.['preference/loss']).toBeLessThan(0.65);
  });

  test('of verdicts is learned by kto', async () => {
    const data = fileOf('verdicts.jsonl', (index) => {
      const isRight = index % 2 === 0;
      return { prompt: [user(index)], completion: [says(isRight ? 'yes' : 'no')], label: isRight };
    });
    const { events } = await train({ data, algorithm: { type: 'kto', learningRate: 0.003 }, steps: 4 });
    const metrics = events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));
    expect(metrics[0]).toMatchObject({ 'preference/desirable': 0.5, 'preference/loss': expect.closeTo(0.5, 4) });
    expect(metrics[3]?.['preference/loss']).toBeLessThan(0.49);
  });

  test('needs no agent: the run ends without a verdict, and resumes with the weights of an uninterrupted one', async () => {
    const data = fileOf('alone.jsonl', (index) => ({ messages: [user(index), says('yes')] }));
    const whole = await train({ data, steps: 4 });
    expect(whole.summary).toMatchObject({ verdict: 'undecided', after: { rollouts: 0 } });
    expect(whole.events.some(({ type }) => type === 'evaluated')).toBe(false);

    const first = await train({ data, steps: 2 });
    const { summary } = await train({ data, steps: 4 }, { resume: first.summary.runId });
    expect(summary.training?.lossCurve).toEqual(whole.summary.training?.lossCurve);
    expect(summary.training?.lossCurve).toHaveLength(4);
  });

  test('that changed is refused when the run is resumed', async () => {
    const data = fileOf('changed.jsonl', (index) => ({ messages: [user(index), says('yes')] }));
    const { summary } = await train({ data, steps: 1 });
    fileOf('changed.jsonl', (index) => ({ messages: [user(index), says('no')] }));
    await expect(train({ data, steps: 2 }, { resume: summary.runId })).rejects.toMatchObject({ code: 'CONFIG' });
  });

  test('is refused by a policy gradient, which needs the log-probabilities at sampling', async () => {
    const data = fileOf('plain.jsonl', (index) => ({ messages: [user(index), says('yes')] }));
    await expect(train({ data, algorithm: 'grpo', steps: 1 })).rejects.toMatchObject({ code: 'NOTHING_TO_TRAIN' });
  });

  test('with other lines is an error that names them', async () => {
    const data = fileOf('wrong.jsonl', (index) =>
      index === 2 ? { text: 'yes' } : { messages: [user(index), says('a')] },
    );
    await expect(train({ data, steps: 1 })).rejects.toThrow(/wrong\.jsonl:3: not an example/);
  });
});

describe('the rollouts of a run', () => {
  /** The share of ASCII characters in four tokens: about a half of random bytes. */
  const ascii = async (task: SmallTask): Promise<number> => {
    const text = await ask(task);
    return [...text].filter((character) => character.charCodeAt(0) < 128).length / 4;
  };
  let source = '';

  beforeAll(async () => {
    const trainer = smallTrainer(folder, {
      agent: ascii,
      algorithm: { type: 'grpo', groupSize: 8, learningRate: 1e-9 },
      steps: 4,
      tasksPerStep: 8,
    });
    const { events, error } = await trainSmall(trainer);
    expect(error).toBeNull();
    source = events.findLast((event) => event.type === 'finished')?.summary.runId ?? '';
  });

  test.each([
    { type: 'grpo', learningRate: 0.002, minibatches: 4 },
    { type: 'dpo', learningRate: 0.002, pairsPerTask: 4 },
    { type: 'kto', learningRate: 0.002, threshold: 0.6 },
  ] as const)('teach $type from stored token ids', { timeout: 120_000 }, async (algorithm) => {
    const { summary, events } = await train({
      data: fromRun(source),
      agent: ascii,
      tasks: { test: tasks },
      evaluation: { rolloutsPerTask: 8 },
      algorithm,
      steps: 12,
    });
    expect(summary.after.reward).toBeGreaterThan(summary.before.reward + 0.1);
    const [first] = events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));
    // The first step is on the policy that sampled.
    if (algorithm.type === 'grpo') expect(first?.['sampler/ratio_mean'] ?? 1).toBeCloseTo(1, 2);
  });

  test('are those that ended before the first start, with at least the smallest score', async () => {
    const data = fromRun(source, { minScore: 0.75, since: '1h' });
    const { summary, events } = await train({ data, steps: 1, tasksPerStep: 100 });
    const used = events.findLast((event) => event.type === 'stepped')?.summary.metrics['rollouts/used'] ?? 0;
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThan(4 * 64);
    const { events: later } = await train({ data, steps: 2, tasksPerStep: 100 }, { resume: summary.runId });
    expect(later.findLast((event) => event.type === 'stepped')?.summary.metrics['rollouts/used']).toBe(used);
  });

  test('must exist', async () => {
    await expect(train({ data: fromRun('no-such-run'), steps: 1 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const none = fromRun(source, { minScore: 100 });
    await expect(train({ data: none, steps: 1 })).rejects.toMatchObject({ code: 'NOTHING_TO_TRAIN' });
  });
});

test('test tasks without an agent, and training tasks beside data, are refused', () => {
  const data = 'any.jsonl';
  expect(() => new Trainer({ data, tasks: { test: [{}] } })).toThrow(/no agent, which test tasks and guards need/);
  const both = { data, tasks: { train: [{}] } } as object as StoredTrainConfig;
  expect(() => new Trainer(both)).toThrow(/the rollouts of `data` are trained on/);
});
