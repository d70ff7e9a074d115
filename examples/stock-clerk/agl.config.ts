import { defineConfig } from '@agentlightning/trainer';
import { stockClerk, stockTask } from './agent.ts';

export default defineConfig({
  run: { name: 'stock-clerk' },
  agent: stockClerk,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: stockTask },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 2e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.01,
    creditAssignment: { type: 'per-turn' },
    dropConstantGroups: true,
  },
  steps: 20,
  tasksPerStep: 12,
  agents: { concurrency: 64 },
});
