import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rewards, scorer } from '@agentlightning/rewards';
import { createScorer as createMastraScorer } from '@mastra/core/evals';
import { Levenshtein } from 'autoevals';
import { createScorer as createEvaliteScorer } from 'evalite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ConfiguredReward } from '../src/index.ts';
import { ask, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-scorers-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Scorers of a project's evaluations. Each grades the characters that the untrained model samples. */
const mastra = createMastraScorer({ id: 'first', description: 'Prefers high first characters.' }).generateScore(
  ({ run }) => (String(run.output).codePointAt(0) ?? 0) / 0x110000,
);
const evalite = createEvaliteScorer<string, string>({
  name: 'vowels',
  scorer: ({ output }) => (output.match(/[aeiou]/g) ?? []).length / 100,
});

const expected = (): string => 'abcdefghijklmnopqrstuvwxyz0123456789';
const cases: readonly (readonly [string, ConfiguredReward<SmallTask, string>])[] = [
  ['autoevals', rewards({ similar: scorer(Levenshtein, { expected }) })],
  ['evalite', rewards({ vowels: scorer(evalite) })],
  ['Mastra', rewards({ first: mastra })],
];

/** Enough rollouts that a rise is not chance. */
const settings = {
  algorithm: { type: 'grpo', groupSize: 8, learningRate: 5e-3 },
  steps: 10,
  tasksPerStep: 4,
} as const;

test.each(cases)(
  'training by a scorer of %s raises its score',
  async (_, reward) => {
    const agent = (task: SmallTask): Promise<string> => ask(task);
    const { events, error } = await trainSmall(smallTrainer(folder, { agent, reward, ...settings }));
    expect(error).toBeNull();
    const steps = events.flatMap((event) => (event.type === 'stepped' ? [event.summary] : []));
    expect(steps.map(({ metrics }) => metrics['failures/no_reward'])).toEqual(steps.map(() => 0));
    const meanOf = (part: typeof steps): number => part.reduce((sum, step) => sum + step.reward, 0) / part.length;
    const spread = steps[0]?.metrics['reward/std'] ?? 0;
    const rise = meanOf(steps.slice(-3)) - meanOf(steps.slice(0, 3));
    expect(rise, JSON.stringify(steps.map((step) => step.reward))).toBeGreaterThan(spread / 2);
  },
  120_000,
);
