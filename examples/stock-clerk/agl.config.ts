import { defineConfig } from '@agentlightning/trainer';
import { stockClerk, stockTask } from './agent.ts';

export default defineConfig({
  name: 'stock-clerk',
  agent: stockClerk,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
  taskSchema: stockTask,
  algorithm: { type: 'grpo', groupSize: 8, learningRate: 2e-3 },
  steps: 20,
  tasksPerStep: 16,
  concurrency: 64,
});
