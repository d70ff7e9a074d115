import { instrumentOpenAIAgents } from '@agentlightning/openai-agents';
import { defineConfig } from '@agentlightning/trainer';
import { MaxTurnsExceededError, ModelBehaviorError } from '@openai/agents';
import { z } from 'zod';
import { answerCustomer } from './agent.ts';

instrumentOpenAIAgents({ api: 'chat_completions' });
// Model calls are sent to the model in training, which needs no key.
process.env['OPENAI_API_KEY'] ??= 'none';

/** A customer's message, the card balances of the bank, and the right answer. */
export const customerTask = z.object({
  words: z.string(),
  balances: z.record(z.string(), z.number()),
  answer: z.string(),
});

export type CustomerTask = z.infer<typeof customerTask>;

/**
 * The agent as the trainer runs it: 1 for the right answer; 0.3 when a lost card was at least handed over to security; else
 * 0. An agent without a result also gets 0: an agent that throws has no reward, so its rollout would not be trained on.
 */
async function agent({ words, balances, answer }: CustomerTask): Promise<number> {
  try {
    const { text, agent: speaker } = await answerCustomer(words, balances);
    if (text.trim() === answer) return 1;
    return speaker === 'Security' && answer.endsWith('is blocked.') ? 0.3 : 0;
  } catch (error) {
    if (error instanceof MaxTurnsExceededError || error instanceof ModelBehaviorError) return 0;
    throw error;
  }
}

export default defineConfig({
  run: { name: 'bank-desk' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: customerTask },
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
  steps: 50,
  stop: { reward: 0.95 },
  tasksPerStep: 24,
  agents: { concurrency: 64 },
});
