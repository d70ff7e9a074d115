import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { examples, fileMessage, filing, tools } from '../agent.ts';
import { search } from './searches.ts';

// Never a real model, whatever the machine has.
beforeEach(() => void vi.stubEnv('OPENAI_API_KEY', undefined));
afterEach(() => void vi.unstubAllEnvs());

const arms = {
  instructions: [filing],
  'instructions and tools': [filing, ...tools],
  'instructions, tools and examples': [filing, ...tools, examples],
  'examples alone': [examples],
};

type Arm = keyof typeof arms;

/** The mean held-out reward of three seeds after a search with some prompts, and the single rewards. */
async function measure(arm: Arm, isGuided: boolean): Promise<{ readonly mean: number; readonly text: string }> {
  const rewards: number[] = [];
  for (const seed of [1, 2, 3]) {
    const { summary, warnings } = await search({
      agent: async ({ message }) => await fileMessage(message, { isGuided }),
      prompts: arms[arm],
      algorithm: { type: 'gepa', maxRollouts: 800, maxOptimizerCalls: 100, stopAtScore: 1, reflectionTasks: 4 },
      run: { seed },
    });
    expect(warnings).toEqual([]);
    expect(summary.prompts?.rollouts).toBeLessThanOrEqual(800);
    rewards.push(summary.after.reward);
  }
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const text = `${isGuided ? 'guided, ' : ''}${arm}: ${mean.toFixed(2)} (${rewards.map((each) => each.toFixed(2)).join(', ')})`;
  return { mean, text };
}

test('three seeds of every arm, with the same budget', { tags: ['long'], timeout: 1_800_000 }, async () => {
  const means: Record<string, number> = {};
  for (const isGuided of [false, true]) {
    for (const arm of Object.keys(arms) as Arm[]) {
      const { mean, text } = await measure(arm, isGuided);
      means[`${isGuided ? 'guided ' : ''}${arm}`] = mean;
      // The numbers of the README.
      console.info(text);
    }
  }
  // Where the model chooses tools by their descriptions, instructions cannot replace these.
  expect(means['instructions and tools']).toBeGreaterThan((means['instructions'] ?? 1) + 0.05);
  // Examples begin without an optimiser model where a guess is right by chance.
  expect(means['examples alone']).toBeGreaterThan(0.35);
});
