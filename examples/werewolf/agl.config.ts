import { defineConfig } from '@agentlightning/trainer';
import { gameTask } from './agent.ts';
import { playerCredit } from './credit.ts';
import { outside, playTask } from './werewolf.ts';

/** Self-play, and games against the outside model. It begins with a checkpoint of the warm-up: `--from warmup@final`. */
export default defineConfig({
  name: 'werewolf',
  agent: async (task) => await playTask(task),
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
  taskSchema: gameTask,
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 1e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.01,
    advantage: { type: 'batch-std' },
    creditAssignment: playerCredit(0.5),
    onlyCalls: (call) => call.model !== outside.model,
  },
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 20,
  tasksPerStep: 6,
  concurrency: 48,
  keepCheckpoints: 40,
  evaluation: { every: 10, tasks: 64 },
  finish: 'last',
});
