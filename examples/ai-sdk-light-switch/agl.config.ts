import { instrumentAiSdk } from '@agentlightning/ai-sdk';
import { defineConfig } from '@agentlightning/trainer';
import { z } from 'zod';
import { switchLamps } from './agent.ts';

instrumentAiSdk();
// Model calls go to the model in training, so that nobody needs a key.
process.env['OPENAI_API_KEY'] ??= 'none';

/** What somebody asks for, the lamps of the house, and which of them should be on in the end. */
export const lampTask = z.object({
  request: z.string(),
  lamps: z.record(z.string(), z.boolean()),
  wanted: z.record(z.string(), z.boolean()),
});

export type LampTask = z.infer<typeof lampTask>;

/** The agent as the trainer runs it: 1 when every lamp is as it should be, else 0. */
async function agent(task: LampTask): Promise<number> {
  const house = new Map(Object.entries(task.lamps));
  await switchLamps(task.request, house);
  return Object.entries(task.wanted).every(([lamp, isOn]) => house.get(lamp) === isOn) ? 1 : 0;
}

export default defineConfig({
  name: 'light-switch',
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
  taskSchema: lampTask,
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 2e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.03,
  },
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 30,
  tasksPerStep: 32,
  concurrency: 64,
});
