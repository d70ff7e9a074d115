import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { defineConfig } from '@agentlightning/trainer';
import { z } from 'zod';
import { solve } from './agent.ts';

instrumentAISDK();
// Model calls are sent to the model in training, which needs no key.
process.env['OPENAI_API_KEY'] ??= 'none';

/** A word problem and its answer. */
export const problemTask = z.object({ question: z.string(), answer: z.string() });

export type ProblemTask = z.infer<typeof problemTask>;

/** The agent as the trainer runs it: 1 for the right answer, 0 for any other. */
async function agent({ question, answer }: ProblemTask): Promise<number> {
  return (await solve(question)).trim() === answer ? 1 : 0;
}

export default defineConfig({
  run: { name: 'calc-x' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: problemTask },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 2e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.02,
    dropConstantGroups: true,
  },
  sampling: { temperature: 1, maxTokens: 16 },
  steps: 40,
  stop: { reward: 0.95 },
  tasksPerStep: 24,
  agents: { concurrency: 64 },
});
