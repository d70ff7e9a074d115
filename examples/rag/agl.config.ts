import { instrumentOpenAIAgents } from '@agentlightning/openai-agents';
import { defineConfig, replayDemonstration } from '@agentlightning/trainer';
import { MaxTurnsExceededError, ModelBehaviorError } from '@openai/agents';
import { z } from 'zod';
import { type Answer, answerQuestion } from './agent.ts';
import { conversation, type Demonstration, demonstration } from './demonstration.ts';

instrumentOpenAIAgents({ api: 'chat_completions' });
// Model calls are sent to the model in training, which needs no key.
process.env['OPENAI_API_KEY'] ??= 'none';

/** A question, its answer, and the document that has it. */
export const filmTask = z.object({ question: z.string(), answer: z.string(), document: z.int() });

export type FilmTask = z.infer<typeof filmTask>;

/** The parts of the reward, each 0 or 1, and their mean, which is trained on. */
export function judge({ text, sources }: Answer, { answer, document }: FilmTask) {
  const [, given, cited] = /^(.+) \[(\d+)\]$/.exec(text.trim()) ?? [];
  const parts = { answer: given === answer ? 1 : 0, citation: sources[Number(cited) - 1]?.id === document ? 1 : 0 };
  return { primary: (parts.answer + parts.citation) / 2, ...parts };
}

/** The agent as the trainer runs it. An agent without a result has no right answer; without a reward it would not be trained on. */
async function agent(task: FilmTask) {
  try {
    return judge(await answerQuestion(task.question), task);
  } catch (error) {
    if (error instanceof MaxTurnsExceededError || error instanceof ModelBehaviorError)
      return judge({ text: '', sources: [] }, task);
    throw error;
  }
}

/** Imitation: the reward has no meaning in it, and the parts of the others. */
async function imitate(task: Demonstration) {
  await replayDemonstration(conversation(task));
  return { primary: 1, answer: 1, citation: 1 };
}

/** Imitation of demonstrations, then reinforcement learning. */
export default defineConfig({
  run: { name: 'rag' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: filmTask },
  runtime: { type: 'embedded', model: 'tiny-reader' },
  stages: [
    {
      agent: imitate,
      tasks: { train: 'tasks/demonstrations.jsonl', schema: demonstration },
      algorithm: {
        type: 'sft',
        learningRate: { schedule: 'linear', peak: 1e-3, warmupSteps: 10 },
        optimizer: { beta2: 0.98 },
        minibatches: 3,
      },
      steps: 40,
      tasksPerStep: 48,
    },
    {
      algorithm: {
        type: 'grpo',
        groupSize: 8,
        learningRate: 2e-3,
        optimizer: { beta2: 0.99 },
        loss: 'importance_sampling',
        entropyCoefficient: 0.005,
        dropConstantGroups: true,
      },
      steps: 30,
      stop: { reward: 0.95 },
    },
  ],
  reward: { parts: { answer: { range: [0, 1] }, citation: { range: [0, 1] } } },
  evaluation: { rolloutsPerTask: 2 },
  sampling: { temperature: 1, maxTokens: 20 },
  tasksPerStep: 24,
  agents: { concurrency: 64 },
});
