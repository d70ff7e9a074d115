import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { defineConfig, replayDemonstration } from '@agentlightning/trainer';
import { z } from 'zod';
import { solve } from './agent.ts';
import { conversation, type Demonstration, demonstration } from './demonstration.ts';

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

/** Imitation of demonstrations, then reinforcement learning. */
export default defineConfig({
  run: { name: 'calc-x' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: problemTask },
  stages: [
    {
      agent: (task: Demonstration) => replayDemonstration(conversation(task)),
      tasks: { train: 'tasks/demonstrations.jsonl', schema: demonstration },
      algorithm: {
        type: 'sft',
        learningRate: { schedule: 'linear', peak: 3e-3, warmupSteps: 10 },
        optimizer: { beta2: 0.98 },
        minibatches: 4,
      },
      steps: 100,
      tasksPerStep: 48,
    },
    {
      algorithm: {
        type: 'grpo',
        groupSize: 8,
        learningRate: 2e-3,
        optimizer: { beta2: 0.99 },
        loss: 'importance_sampling',
        entropyCoefficient: 0.02,
        dropConstantGroups: true,
      },
      steps: 40,
      stop: { reward: 0.95 },
    },
  ],
  sampling: { temperature: 1, maxTokens: 16 },
  tasksPerStep: 24,
  agents: { concurrency: 64 },
});
