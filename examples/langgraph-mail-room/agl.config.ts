import { instrumentLangChain } from '@agentlightning/langchain';
import { defineConfig } from '@agentlightning/trainer';
import { z } from 'zod';
import { answerLetter } from './agent.ts';

instrumentLangChain();
// Model calls are sent to the model in training, which needs no key.
process.env['OPENAI_API_KEY'] ??= 'none';

/** A letter, the lockers of the house, and the right answer. */
export const mailTask = z.object({
  letter: z.string(),
  lockers: z.record(z.string(), z.number()),
  answer: z.string(),
});

export type MailTask = z.infer<typeof mailTask>;

/** The agent as the trainer runs it: 1 for the right answer, 0 for any other. */
async function agent(task: MailTask): Promise<number> {
  const answer = await answerLetter(task.letter, task.lockers);
  return answer.trim() === task.answer ? 1 : 0;
}

export default defineConfig({
  run: { name: 'mail-room' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: mailTask },
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
  steps: 40,
  stop: { reward: 0.95 },
  tasksPerStep: 24,
  agents: { concurrency: 64 },
});
