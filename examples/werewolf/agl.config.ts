import { defineConfig } from '@agentlightning/trainer';
import { gameTask } from './agent.ts';
import { playerCredit } from './credit.ts';
import { outside, playTask } from './werewolf.ts';

/** The model before the warm-up. */
export const baseModel = 'tiny-reader';

/** Self-play, and games against the outside model. It begins with a checkpoint of the warm-up: `--from werewolf-warm-up@final`. */
export default defineConfig({
  run: { name: 'werewolf' },
  agent: async (task) => await playTask(task),
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: gameTask },
  runtime: { type: 'embedded', model: baseModel },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 1e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.003,
    advantage: { type: 'batch-std' },
    creditAssignment: playerCredit(0.5),
    onlyCalls: (call) => call.model !== outside.model,
  },
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 40,
  tasksPerStep: 6,
  agents: { concurrency: 48 },
  // All rollouts of a step share the CPU.
  limits: { rolloutTimeoutMs: 300_000 },
  checkpoints: { keep: 41, finish: 'last' },
  evaluation: { every: 20, rolloutsPerTask: 2 },
});
