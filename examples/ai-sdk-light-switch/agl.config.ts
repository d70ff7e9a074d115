import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { defineConfig } from '@agentlightning/trainer';
import { z } from 'zod';
import { tendLamps } from './agent.ts';

instrumentAISDK();
// Model calls are sent to the model in training, which needs no key.
process.env['OPENAI_API_KEY'] ??= 'none';

/** The request, the lamps of the house, and the correct answer. */
export const lampTask = z.object({
  request: z.string(),
  lamps: z.record(z.string(), z.boolean()),
  answer: z.string(),
});

export type LampTask = z.infer<typeof lampTask>;

/** The agent as the trainer runs it: 1 for the right answer, 0 for any other. */
async function agent(task: LampTask): Promise<number> {
  const answer = await tendLamps(task.request, new Map(Object.entries(task.lamps)));
  return answer === task.answer ? 1 : 0;
}

export default defineConfig({
  run: { name: 'light-switch' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: lampTask },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 3e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.1,
    dropConstantGroups: true,
  },
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 56,
  stop: { reward: 0.95 },
  tasksPerStep: 24,
  agents: { concurrency: 64 },
});
