import { defineConfig, replayDemonstration } from '@agentlightning/trainer';
import { z } from 'zod';
import config, { filmTask } from './agl.config.ts';

/** A search to imitate, its result, and a response. */
const demonstration = z.object({ question: z.string(), words: z.string(), result: z.string(), response: z.string() });

export type Demonstration = z.infer<typeof demonstration>;

const tools = [
  { type: 'function', function: { name: 'search', parameters: { properties: { words: { type: 'string' } } } } },
];

/** The conversation of the agent about a demonstration, in the format of `agl dataset`. */
export function conversation({ question, words, result, response }: Demonstration) {
  const call = { name: 'search', arguments: JSON.stringify({ words }) };
  return {
    messages: [
      { role: 'system', content: 'You know films.' },
      { role: 'user', content: question },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_0', type: 'function', function: call }] },
      { role: 'tool', tool_call_id: 'call_0', content: result },
      { role: 'assistant', content: response },
    ],
    tools,
  };
}

const { stop: _, reward: __, ...shared } = config;

/** Supervised fine-tuning on demonstrations; it is evaluated on the same held-out questions as the training. */
export default defineConfig({
  ...shared,
  run: { ...shared.run, name: 'rag warm-up' },
  agent: (task, context) =>
    'response' in task ? replayDemonstration(conversation(task)) : config.agent(task, context),
  tasks: { train: 'tasks/demonstrations.jsonl', test: 'tasks/test.jsonl', schema: z.union([demonstration, filmTask]) },
  algorithm: {
    type: 'sft',
    learningRate: { schedule: 'linear', peak: 1e-3, warmupSteps: 10 },
    optimizer: { beta2: 0.98 },
    minibatches: 3,
  },
  steps: 40,
  tasksPerStep: 48,
});
