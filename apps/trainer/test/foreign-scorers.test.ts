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

test.each(cases)('a scorer of %s trains an agent', async (_, reward) => {
  const agent = (task: SmallTask): Promise<string> => ask(task);
  const { events, error } = await trainSmall(smallTrainer(folder, { agent, reward }));
  expect(error).toBeNull();
  const [metrics = {}] = events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));
  expect(metrics['failures/no_reward']).toBe(0);
  // Rewards differ within groups, so that the step has a gradient.
  expect(metrics['reward/std']).toBeGreaterThan(0);
});
