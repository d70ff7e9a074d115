import { defineConfig } from '@agentlightning/trainer';
import { functionCaller } from './agent.ts';
import { bfclTask } from './task.ts';

/** The algorithm, which the controls change in one place each. */
export const grpo = {
  type: 'grpo',
  groupSize: 8,
  learningRate: 3e-4,
  loss: 'importance_sampling',
  entropyCoefficient: 0.01,
} as const;

export default defineConfig({
  run: { name: 'bfcl-functions' },
  agent: functionCaller,
  tasks: {
    train: 'node_modules/.cache/tasks/train.jsonl',
    test: 'node_modules/.cache/tasks/test.jsonl',
    schema: bfclTask,
  },
  // `node train.ts` starts the runtime at its own address; `--runtime` names another.
  runtime: { type: 'grpc', address: '127.0.0.1:50051', model: 'smollm2', lora: { rank: 16, alpha: 32 } },
  algorithm: grpo,
  reward: { range: [0, 1] },
  sampling: { temperature: 0.8 },
  steps: 6,
  tasksPerStep: 8,
  agents: { concurrency: 64 },
  limits: { rolloutTimeoutMs: 300_000 },
  evaluation: { tasks: 65, rolloutsPerTask: 2 },
});
