// @module-tag long
import { expect, test } from 'vitest';
import { loadBaseModel } from '../src/base-models.ts';
import { evaluate, type StockReward, type TrainOptions, train } from './stock-clerk.ts';

const isExact: StockReward = ({ answer, task }) => (answer === task.count ? 1 : 0);

async function trainedReward(options: Partial<TrainOptions> & { reward: StockReward }) {
  const engine = await loadBaseModel('tiny-chat', 1);
  const before = await evaluate(engine, options.reward);
  await train(engine, { steps: 6, seed: 1, ...options });
  return { before, after: await evaluate(engine, options.reward) };
}

test('the agent learns to call the tool with the right part and to report its result', async () => {
  const { before, after } = await trainedReward({ reward: isExact, steps: 7 });
  expect(before).toBeGreaterThan(0.05);
  expect(before).toBeLessThan(0.3);
  expect(after).toBeGreaterThan(before + 0.35);
});

test('a reward for another answer gives another behaviour', async () => {
  const { before, after } = await trainedReward({ reward: ({ answer }) => (answer === 'unknown' ? 1 : 0) });
  expect(before).toBeLessThan(0.2);
  expect(after).toBeGreaterThan(0.7);
});

test('a reward for leaving the tool alone does that', async () => {
  const { before, after } = await trainedReward({ reward: ({ calls }) => (calls === 0 ? 1 : 0), steps: 4 });
  expect(before).toBeLessThan(0.7);
  expect(after).toBeGreaterThan(0.85);
});

test('with the sign of the advantages turned, the reward falls', async () => {
  const { before, after } = await trainedReward({
    reward: isExact,
    distort: (advantages) => advantages.map((advantage) => -advantage),
  });
  expect(after).toBeLessThan(before - 0.05);
});
