import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RewardInput, RewardParts } from '@agentlightning/core/algorithm';
import { findScoredOutput } from '@agentlightning/core/internal';
import { env } from '@agentlightning/core/settings';
import { rubric, scorer } from '@agentlightning/rewards';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TrainConfig } from '../src/index.ts';
import { AglProcess, summaryOf } from './agl-process.ts';
import { ask, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-scored-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the reward of a configuration scores what agents return in worker processes, in training and evaluations', async () => {
  const config = path.resolve(import.meta.dirname, 'fixtures/scored.config.ts');
  await using agl = new AglProcess(['train', config, '--json', '--run', 'scored', '--data-dir', folder]);
  expect(await agl.exitCode(), agl.stderr).toBeLessThan(2);
  const step = summaryOf(agl.events.find(({ type }) => type === 'stepped') ?? { type: 'none' });
  const metrics = step['metrics'] as Readonly<Record<string, number>>;
  // The judge is missing everywhere, and never 0.
  expect(Object.keys(metrics).filter((name) => /^reward\/(judged|calls|digits)\/mean$/.test(name))).toEqual([
    'reward/digits/mean',
    'reward/calls/mean',
  ]);
  expect(metrics['reward/calls/mean']).toBe(1);
  expect(step['reward']).toBeCloseTo((metrics['reward/digits/mean'] ?? 0) + 0.5);
  const evaluated = summaryOf(agl.events.find(({ type }) => type === 'evaluated') ?? { type: 'none' });
  expect(evaluated['reward']).toBeGreaterThanOrEqual(0.5);
  // One cause is reported once.
  expect(agl.events.filter(({ message }) => String(message).includes('the judge has no key'))).toHaveLength(1);
  const store = await openStore(path.join(folder, 'agl.db'));
  const { items } = await store.queryRollouts({ runId: 'scored', limit: 1 });
  const spans = (await store.querySpans({ rolloutId: items[0]?.rolloutId ?? '' })).items;
  await store.close();
  expect(findScoredOutput(spans)).toMatchObject({
    output: expect.any(String),
    scores: { calls: { score: 1 }, judged: { score: null, reason: expect.stringContaining('no key') } },
  });
}, 120_000);

/** The metrics of the steps and the warnings of a small training with text as output. */
async function trainScored(
  reward: RewardParts<unknown, string>,
  mode: 'sync' | 'async',
  limits: TrainConfig<SmallTask>['limits'] = {},
) {
  const agent = (task: SmallTask): Promise<string> => ask(task);
  const trainer = smallTrainer(folder, { agent, reward, collection: { mode }, limits });
  const { events, error } = await trainSmall(trainer);
  expect(error).toBe(null);
  const steps = events.flatMap((event) => (event.type === 'stepped' ? [event.summary] : []));
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  return { events, steps, warnings };
}

test.each(['sync', 'async'] as const)(
  'a part scores complete groups, with %s collection and in evaluations',
  async (mode) => {
    const sizes: number[] = [];
    const rank = {
      scoreGroup: (siblings: readonly { readonly output: string }[]) => {
        sizes.push(siblings.length);
        const lengths = siblings.map(({ output }) => output.length);
        return lengths.map((length) => lengths.filter((other) => other < length).length / siblings.length);
      },
      range: [0, 1] as const,
    };
    const { steps, events } = await trainScored(
      { parts: { long: { score: () => 1, weight: 0 }, rank }, primary: 'rank' },
      mode,
    );
    expect(steps[0]?.metrics).toMatchObject({ 'reward/long/mean': 1, 'reward/rank/mean': expect.any(Number) });
    // Groups of two in training, single rollouts of each task in the two evaluations.
    expect(sizes.filter((size) => size === 1)).toHaveLength(8);
    expect(sizes.filter((size) => size === 2).length).toBeGreaterThanOrEqual(4);
    expect(events.find(({ type }) => type === 'evaluated')).toMatchObject({ summary: { reward: 0 } });
  },
  60_000,
);

test('a part that fails for a group is missing in it, reported once, and the others count', async () => {
  const broken = { scoreGroup: () => [1], weight: 0 };
  const { steps, warnings } = await trainScored({ parts: { one: { score: () => 1 }, broken } }, 'sync');
  expect(steps[0]?.reward).toBe(1);
  expect(steps[0]?.metrics).not.toHaveProperty('reward/broken/mean');
  // Once in the step: single rollouts of evaluations have one verdict each.
  expect(warnings.filter((text) => text.includes('returned 1 verdicts for 2 rollouts'))).toHaveLength(1);
}, 60_000);

test('the prompt of a judge is a resource, to which the rollouts that it scores refer', async () => {
  await trainScored({ parts: { judged: { score: () => 1, prompt: 'Grade the output.' } } }, 'sync');
  const store = await openStore(path.join(folder, 'agl.db'));
  const { items } = await store.queryRollouts({ limit: 1 });
  const { resources } = await store.getResources(items[0]?.resourcesId ?? '');
  await store.close();
  expect(resources['judge/judged']).toEqual({
    resourceType: 'prompt_template',
    template: 'Grade the output.',
    engine: 'jinja',
  });
}, 60_000);

/** Scorers that give no score, with the text of their error. */
const broken: readonly (readonly [string, RewardParts<unknown, string>['parts'][string], string])[] = [
  ['without a score', scorer(() => ({ verdict: 'good' })), 'which has no score'],
  ['outside of its range', scorer(() => 1.5), 'outside of its range 0 to 1'],
  [
    'of a judge without a key',
    rubric({
      judge: { baseUrl: 'http://127.0.0.1:9/v1', model: 'judge', apiKey: env('AGL_TEST_NO_KEY') },
      criteria: { right: 'It is right.' },
    }),
    'AGL_TEST_NO_KEY is not set',
  ],
  ['that never resolves', { score: () => new Promise<number>(() => undefined) }, 'did not finish within'],
];

test.each(broken)(
  'a scorer %s leaves the reward of its rollouts missing, which the run counts',
  async (_, part, text) => {
    // Half of the training tasks are scored by the broken part.
    const isBroken = ({ task, mode }: RewardInput): boolean => mode === 'train' && (task as SmallTask).index % 2 === 1;
    const score = (input: RewardInput<unknown, string>) =>
      isBroken(input) ? (part.score?.(input) ?? null) : input.output.length / 16;
    const { steps, warnings } = await trainScored({ parts: { scored: { ...part, score } } }, 'sync', {
      rolloutTimeoutMs: 4000,
    });
    const missing = steps[0]?.metrics['failures/no_reward'] ?? 0;
    expect(missing).toBeGreaterThan(0);
    expect(missing % 2).toBe(0);
    expect(warnings.join('\n')).toContain(text);
  },
  60_000,
);
