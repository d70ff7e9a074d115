import { defineConfig } from '@agentlightning/trainer';
import { z } from 'zod';
import { receiveVisitor } from './agent.ts';

/** A visitor's message, and the door to open. */
export const visitorTask = z.object({ message: z.string(), door: z.string() });

export type VisitorTask = z.infer<typeof visitorTask>;

/** The agent as the trainer runs it: 1 when it opened the right door and no other, else 0. */
async function agent({ message, door }: VisitorTask): Promise<number> {
  const opened = await receiveVisitor(message);
  return opened.length === 1 && opened[0] === door ? 1 : 0;
}

export default defineConfig({
  run: { name: 'porter' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: visitorTask },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 3e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.02,
    dropConstantGroups: true,
  },
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 4,
  stop: { reward: 0.95 },
  tasksPerStep: 6,
  evaluation: { tasks: 32 },
  // A process of Claude Code for each rollout.
  agents: { concurrency: 4 },
});
