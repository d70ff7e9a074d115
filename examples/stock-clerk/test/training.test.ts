// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { grpoAdvantage } from '@agentlightning/algorithms';
import type { AdvantageEstimator } from '@agentlightning/core';
import type { AdvantageEstimate } from '@agentlightning/core/algorithm';
import { type TrainConfig, Trainer, type TrainingSummary } from '@agentlightning/trainer';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { answerQuestion, type StockTask } from '../agent.ts';
import config from '../agl.config.ts';

/** Each test trains for most of a minute on a free machine, and for longer on a busy one. */
const patienceMs = 600_000;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-clerk-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Trains the example with a few changes, measured on 64 held-out tasks. */
async function train(changes: Partial<TrainConfig<StockTask>>): Promise<TrainingSummary> {
  const trainer = new Trainer<StockTask>({
    ...config,
    tasks: { train: taskFile('train'), test: taskFile('test') },
    evaluation: { tasks: 64 },
    dataDir: folder,
    ...changes,
  });
  return await trainer.fit();
}

/** The example's algorithm with other advantages: what a negative control changes. */
function withAdvantages(change: (estimate: AdvantageEstimate) => readonly number[]): Partial<TrainConfig<StockTask>> {
  const grpo = grpoAdvantage();
  const advantage: AdvantageEstimator = {
    name: 'changed',
    estimate: (returns) => {
      const estimate = grpo.estimate(returns);
      return { ...estimate, advantages: change(estimate) };
    },
  };
  if (typeof algorithm !== 'object' || algorithm.type !== 'grpo') throw new Error('the example is trained by grpo');
  // Measured often enough that chance alone does not look like learning.
  return { algorithm: { ...algorithm, advantage }, steps: 8, evaluation: { tasks: 64, rolloutsPerTask: 4 } };
}

const { algorithm } = config;

test(
  'learns to look up and to repeat what the tool said',
  async () => {
    const { before, after, isImproved } = await train({});
    expect(before.reward).toBeLessThan(0.4);
    expect(after.reward).toBeGreaterThan(0.8);
    expect(isImproved).toBe(true);
  },
  patienceMs,
);

test(
  'goes where another reward sends it: the same agent learns to say that it does not know',
  async () => {
    const says = async (task: StockTask): Promise<number> =>
      (await answerQuestion(task))?.trim() === 'unknown' ? 1 : 0;
    const { before, after } = await train({ agent: says, steps: 12 });
    expect(before.reward).toBeLessThan(0.5);
    expect(after.reward).toBeGreaterThan(0.8);
  },
  patienceMs,
);

describe('negative controls do not learn:', () => {
  test(
    'advantages of zero',
    async () => {
      const { before, after } = await train(withAdvantages(({ advantages }) => advantages.map(() => 0)));
      expect(Math.abs(after.reward - before.reward)).toBeLessThan(0.2);
    },
    patienceMs,
  );

  test(
    'advantages of other rollouts',
    async () => {
      const { before, after } = await train(
        withAdvantages(({ advantages }) =>
          advantages.map((_, index) => advantages[(index * 37 + 11) % advantages.length] ?? 0),
        ),
      );
      expect(after.reward - before.reward).toBeLessThan(0.2);
    },
    patienceMs,
  );

  test(
    'advantages of the opposite sign make it worse',
    async () => {
      const { before, after } = await train(withAdvantages(({ advantages }) => advantages.map((value) => -value)));
      expect(after.reward).toBeLessThan(before.reward);
      expect(after.reward).toBeLessThan(0.05);
    },
    patienceMs,
  );
});
