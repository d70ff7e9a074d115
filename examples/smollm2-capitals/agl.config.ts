import { defineConfig } from '@agentlightning/trainer';
import { capitals, cityTask } from './agent.ts';

export default defineConfig({
  run: { name: 'smollm2-capitals' },
  agent: capitals,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: cityTask },
  // `node train.ts` starts the runtime at its own address; `--runtime` names another.
  runtime: { type: 'grpc', address: '127.0.0.1:50051', model: 'smollm2', lora: { rank: 16, alpha: 32 } },
  algorithm: { type: 'grpo', groupSize: 8, learningRate: 3e-4, loss: 'importance_sampling', entropyCoefficient: 0.01 },
  sampling: { temperature: 0.8 },
  steps: 30,
  tasksPerStep: 8,
  agents: { concurrency: 64 },
  evaluation: { every: 5, tasks: 48 },
});
