import { defineConfig } from '@agentlightning/trainer';
import { dayTask, workDay } from './agent.ts';

export default defineConfig({
  run: { name: 'memory-agent' },
  agent: workDay,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: dayTask },
  runtime: { type: 'embedded', model: 'tiny-reader' },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 1e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.003,
    creditAssignment: { type: 'per-turn' },
  },
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 40,
  stop: { reward: 0.95 },
  tasksPerStep: 6,
  agents: { concurrency: 48 },
  // All rollouts of a step share the CPU.
  limits: { rolloutTimeoutMs: 300_000 },
  evaluation: { every: 10, tasks: 64 },
  checkpoints: { finish: 'last' },
});
