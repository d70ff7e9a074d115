import { traceFetch } from '@agentlightning/fetch';
import { defineConfig } from '@agentlightning/trainer';
import OpenAI from 'openai';

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch() });

/** Three model calls, one after another; the reward differs between the rollouts of a group. */
async function agent({ index }: { readonly index: number }): Promise<number> {
  let reward = 0;
  for (let turn = 0; turn < 3; turn += 1) {
    const content = `task ${index}, turn ${turn}`;
    const { id } = await client.chat.completions.create({ model: 'any', messages: [{ role: 'user', content }] });
    reward += id.charCodeAt(id.length - 1) % 2;
  }
  return reward / 3;
}

const { SCALE_RUNTIME: address = '', SCALE_STEPS: steps, SCALE_TASKS: tasksPerStep, SCALE_CONCURRENCY } = process.env;
const tasks = Array.from({ length: 512 }, (_, index) => ({ index }));

export default defineConfig({
  agent,
  tasks: { train: tasks, test: tasks.slice(0, 2) },
  algorithm: { type: 'grpo', groupSize: 8, loss: 'importance_sampling' },
  runtime: { type: 'grpc', address },
  evaluation: { tasks: 2 },
  steps: Number(steps),
  tasksPerStep: Number(tasksPerStep),
  agents: { concurrency: Number(SCALE_CONCURRENCY) },
  checkpoints: { every: 100 },
});
