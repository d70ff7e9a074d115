// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { grpoAdvantage } from '@agentlightning/algorithms';
import type { AdvantageEstimate, AdvantageEstimator } from '@agentlightning/core/algorithm';
import { type TrainConfig, Trainer, type TrainingSummary } from '@agentlightning/trainer';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { answerQuestion, type StockTask, stockClerk } from '../agent.ts';
import config from '../agl.config.ts';

/** Each test trains for up to a minute on a free machine, and for longer on a busy one. */
const timeoutMs = 600_000;

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
    run: { ...config.run, ...changes.run, dataDir: folder },
    ...changes,
  });
  return await trainer.fit();
}

function grpoOfExample() {
  const { algorithm } = config;
  if (typeof algorithm !== 'object' || algorithm.type !== 'grpo') throw new Error('the example is trained by grpo');
  return algorithm;
}

const algorithm = grpoOfExample();

/**
 * The example with other advantages, for fewer steps: what a control changes. It is evaluated by the share of right look-ups and answers,
 * since a control cannot reduce a share of right answers that is 0 from the start.
 */
function withAdvantages(change: (estimate: AdvantageEstimate) => readonly number[]): Partial<TrainConfig<StockTask>> {
  const grpo = grpoAdvantage();
  const advantage: AdvantageEstimator = {
    name: 'changed',
    estimate: (returns) => {
      const estimate = grpo.estimate(returns);
      return { ...estimate, advantages: change(estimate) };
    },
  };
  return {
    agent: async (task) => (await stockClerk(task)).progress,
    algorithm: { ...algorithm, advantage },
    steps: 8,
    // Measured often enough that chance alone does not look like learning.
    evaluation: { tasks: 64, rolloutsPerTask: 4 },
  };
}

/** The example with one reward for a whole rollout, without those of look-ups. */
function withOutcomeOnly(reward: (answer: string | null) => boolean): Partial<TrainConfig<StockTask>> {
  return {
    agent: async (task) => (reward(await answerQuestion(task)) ? 1 : 0),
    algorithm: { ...algorithm, creditAssignment: { type: 'terminal' } },
    steps: 12,
  };
}

test(
  'learns what the start checkpoint never does: to look up again under a new number, until there is a count',
  async () => {
    const { before, after, isImproved } = await train({});
    expect(before.reward).toBeLessThan(0.05);
    expect(after.reward).toBeGreaterThan(0.7);
    expect(isImproved).toBe(true);
  },
  timeoutMs,
);

test(
  'goes where another reward sends it: the same agent learns to say that it does not know',
  async () => {
    const { before, after } = await train(withOutcomeOnly((answer) => answer?.trim() === 'unknown'));
    expect(before.reward).toBeLessThan(0.5);
    expect(after.reward).toBeGreaterThan(0.8);
  },
  timeoutMs,
);

describe('the share of right look-ups and answers', () => {
  test(
    'rises with the advantages of the example',
    async () => {
      const { before, after } = await train(withAdvantages(({ advantages }) => advantages));
      expect(after.reward).toBeGreaterThan(before.reward + 0.3);
    },
    timeoutMs,
  );

  test(
    'does not change with advantages of zero',
    async () => {
      const { before, after } = await train(withAdvantages(({ advantages }) => advantages.map(() => 0)));
      expect(Math.abs(after.reward - before.reward)).toBeLessThan(0.05);
    },
    timeoutMs,
  );

  test(
    'does not rise with advantages of other rollouts',
    async () => {
      const { before, after } = await train(
        withAdvantages(({ advantages }) =>
          advantages.map((_, index) => advantages[(index * 37 + 11) % advantages.length] ?? 0),
        ),
      );
      expect(after.reward - before.reward).toBeLessThan(0.2);
    },
    timeoutMs,
  );

  test(
    'falls with advantages of the opposite sign',
    async () => {
      const { before, after } = await train(withAdvantages(({ advantages }) => advantages.map((value) => -value)));
      expect(after.reward).toBeLessThan(before.reward / 2);
    },
    timeoutMs,
  );
});
