import { defineConfig } from '@agentlightning/trainer';
import { codeTask, writeProgram } from './agent.ts';

export default defineConfig({
  run: { name: 'code-agent' },
  agent: async (task) => await writeProgram(task),
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: codeTask },
  runtime: { type: 'embedded', model: 'tiny-reader' },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 2e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.01,
    creditAssignment: { type: 'per-turn' },
  },
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 100,
  stop: { reward: 0.95 },
  tasksPerStep: 16,
  agents: { concurrency: 64 },
  evaluation: { every: 15 },
  checkpoints: { finish: 'last' },
});
