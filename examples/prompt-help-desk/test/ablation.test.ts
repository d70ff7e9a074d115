import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type PromptSearchConfig, Trainer } from '@agentlightning/trainer';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { examples, sorting } from '../agent.ts';
import type { TicketTask } from '../agl.config.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-example-'));
  // Never a real model, whatever the machine has.
  vi.stubEnv('OPENAI_API_KEY', undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** The held-out rewards of three seeds, and the warnings. */
async function measure(prompts: PromptSearchConfig<TicketTask>['prompts']) {
  const { default: config } = await import('../agl.config.ts');
  const rewards: number[] = [];
  const warnings: string[] = [];
  for (const seed of [1, 2, 3]) {
    const trainer = new Trainer<TicketTask>({
      ...config,
      prompts,
      tasks: { train: taskFile('train'), validation: taskFile('validation'), test: taskFile('test') },
      // Half of the rollouts that the configuration allows, so that there is something to compare.
      algorithm: { type: 'gepa', maxRollouts: 300, maxOptimizerCalls: 100, stopAtScore: 1, reflectionTasks: 4 },
      run: { ...config.run, dataDir: folder, seed },
    });
    const { after } = await trainer.fit({
      onEvent: (event) => void (event.type === 'warning' && warnings.push(event.message)),
    });
    rewards.push(after.reward);
  }
  return { rewards, warnings };
}

test('three seeds with instructions, with examples too, and with examples alone', {
  tags: ['long'],
  timeout: 1_800_000,
}, async () => {
  const instructions = await measure([sorting]);
  const both = await measure([sorting, examples]);
  const alone = await measure([examples]);
  // The numbers of the README.
  console.info(JSON.stringify({ instructions, both, alone }));
  expect(Math.min(...instructions.rewards, ...both.rewards)).toBeGreaterThan(0);
  // No first rollout has a reward above the lowest one, so nothing can be an example.
  expect(alone.rewards).toEqual([0, 0, 0]);
  expect(alone.warnings).toEqual(
    Array(3).fill(expect.stringMatching(/no examples were found for the prompt "examples"/)),
  );
});
